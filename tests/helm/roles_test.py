"""Grants that the chart refuses as the server would, and grants that it takes."""

from __future__ import annotations

import json
import unittest
from typing import Any

from chart import RefusedError, render

HASH = "9237b94c86ee59b8e51197999c04d4570522a9bfb16047aa5b59613faefa515d"
NEITHER = "neither subjects nor tokens; accepted: at least one of either"

Grant = dict[str, Any]


def grant(**fields: list[str]) -> Grant:
    """One that is accepted, but for these fields."""
    return {"role": "operator", "jobs": ["*"], **fields}


# Grants, and what the message names.
REFUSED: tuple[tuple[list[Grant], tuple[str, ...]], ...] = (
    (
        [grant(jobs=["a/b"], subjects=["CN=a"])],
        ("/roles/grants/0/jobs/0", "'a/b'"),
    ),
    ([grant(jobs=[""], subjects=["CN=a"])], ("/roles/grants/0/jobs/0",)),
    ([grant(jobs=["a" * 129], subjects=["CN=a"])], ("/roles/grants/0/jobs/0",)),
    ([grant(jobs=[], subjects=["CN=a"])], ("/roles/grants/0/jobs", "minItems")),
    ([grant()], ("roles.grants[0]: ", NEITHER)),
    (
        [grant(subjects=["CN=a"]), grant(subjects=[], tokens=[])],
        ("roles.grants[1]: ", NEITHER),
    ),
    ([grant(tokens=[f"a b:{HASH}"])], ("/roles/grants/0/tokens/0",)),
    ([grant(tokens=["a" * 129 + f":{HASH}"])], ("/roles/grants/0/tokens/0",)),
    ([grant(tokens=[f"a:{HASH[1:]}"])], ("/roles/grants/0/tokens/0",)),
    (
        [grant(tokens=[f"a:{HASH}"]), grant(tokens=["b:" + HASH.upper()])],
        (
            "roles.grants[1].tokens[0]: the token of 'b' is that of 'a' as well",
            "accepted: one name for a token",
        ),
    ),
)

NO_SUBJECTS = (
    "",
    "ops",
    "CN",
    "CN=",
    "=ops",
    "dns:",
    "CN = a",
    "CN= a",
    "CN =a",
    " CN=a",
    "CN=a ",
    "CN=a, O=b",
    "CN=a ,O=b",
    "CN=a + OU=b",
    "CN=a\\\\ ",
    "CN=ä",
    "CN=a\tb",
    "1://host =",
)

SUBJECTS = (
    "CN=ops",
    "CN=ops,O=Example",
    "CN=two words,O=Example\\+Sons",
    "CN=\\ padded\\ ",
    "CN=a\\, b",
    "CN==",
    "dns:trainer.example",
    "dns: trainer",
    "spiffe://cluster/ns/train/sa/a b",
    "x+y-1.z://",
)


def with_grants(grants: list[Grant]) -> list[str]:
    """The flags of a server with TLS and these."""
    return [
        "--set=tls.existingSecret=mine,tls.clientCertificates=request",
        f"--set-json=roles.grants={json.dumps(grants)}",
    ]


class RolesTest(unittest.TestCase):
    def refused(self, flags: list[str]) -> str:
        """What the chart says instead of a rendering."""
        with self.assertRaises(RefusedError, msg=flags) as caught:
            render(flags)
        return str(caught.exception)

    def test_grants_that_the_server_refuses_are_refused(self) -> None:
        for grants, says in REFUSED:
            with self.subTest(grants):
                said = self.refused(with_grants(grants))
                for part in says:
                    self.assertIn(part, said)

    def test_what_is_no_subject_is_named(self) -> None:
        for text in NO_SUBJECTS:
            with self.subTest(text):
                said = self.refused(with_grants([grant(subjects=["CN=a", text])]))
                self.assertIn("roles.grants[0].subjects[1]: ", said)
                self.assertIn("is no subject; accepted: a distinguished name", said)

    def test_what_the_server_takes_is_rendered(self) -> None:
        jobs = ["a", "*", "run-?", "A_b.c-*", "a" * 128]
        grants = [
            grant(jobs=jobs, subjects=list(SUBJECTS), tokens=[]),
            grant(tokens=[f"team/a@b._-:{HASH}"]),
            grant(tokens=[f"team/a@b._-:{HASH.upper()}"], subjects=[]),
        ]
        self.assertTrue(render(with_grants(grants)))

    def test_channelz_is_refused_where_roles_are_and_others_reach_it(self) -> None:
        flags = with_grants([grant(subjects=["CN=a"])])
        said = self.refused([*flags, "--set=server.config.channelz=on"])
        self.assertIn("server.config.channelz: 'on' is not accepted with roles", said)
        self.assertIn("accepted: auto, off", said)
        for more in (
            "server.config.channelz=auto",
            "server.config.channelz=on,server.bindAddress=127.0.0.1",
            "server.config.channelz=on,server.bindAddress=[::1]",
        ):
            self.assertTrue(render([*flags, f"--set={more}"]), more)
        self.assertTrue(render(["--set=server.config.channelz=on"]))


if __name__ == "__main__":
    unittest.main()
