"""What `helm install` tells its user."""

from __future__ import annotations

import os
import unittest

from chart import CHART, MATRIX, run_helm, values_flags

# Values, what they say, and what they don't.
SAYS: dict[str | None, tuple[tuple[str, ...], tuple[str, ...]]] = {
    None: (
        (
            "evenpack.training.svc:7654\n",
            "helm test --namespace training evenpack",
            "namespace\ntraining alone",
            "Library: nothing is deployed",
            "agent.enabled=true",
            "sidecar.enabled=true",
        ),
        ("Jobs are lost", "certificate", "Who may do what", "spread", "Prometheus"),
    ),
    "memory": (
        (
            *("packer.training.svc:7654\n", "Jobs are lost"),
            *(
                "Insecure: neither tls nor roles",
                "Every pod of the cluster may connect",
            ),
        ),
        ("helm test",),
    ),
    "secure": (
        (
            "store: postgresql",
            "spread over its 3 pods",
            "  $(POD_NAME).evenpack-headless.training.svc:7654\n",
            "roles, by certificates and tokens.",
        ),
        ("Insecure", "test.identity"),
    ),
    "mutual": (
        (
            "  $(POD_NAME).packer.example:7654\n",
            "certificates, which all must show, and tokens",
        ),
        ("Insecure", "test.identity"),
    ),
    "workers_secure": (("connect to packer-0.infra.example:7654,packer-1",), ()),
    "monitoring": (
        (
            "Insecure: the port has TLS, but there are no roles, so whoever\nreaches",
            "evenpack-agent.training.svc:7654",
            "configmap evenpack-worker-sidecar",
            "until\nnetworkPolicy.scrapers lets it in",
        ),
        ("agent.enabled=true", "sidecar.enabled=true"),
    ),
    "workers": (("connect to packer.infra.svc:7654.",), ("rollout status",)),
    "agent_host_port": (("port 7654 of their node",), ()),
    "agent_socket": (("mount /var/lib/evenpack-agent of their node",), ()),
    "everything": (("evenpack-packing.training.svc:7654\n",), ()),
}


class NotesTest(unittest.TestCase):
    def setUp(self) -> None:
        # Nothing is asked of any cluster.
        os.environ["KUBECONFIG"] = os.devnull

    def notes(self, values: str | None) -> str:
        told = run_helm(
            *("install", "evenpack", str(CHART), "--namespace", "training"),
            *("--dry-run=client", *values_flags(values)),
        )
        return told.partition("\nNOTES:\n")[2]

    def test_notes(self) -> None:
        self.assertEqual(set(SAYS), set(MATRIX))
        for values, (says, leaves_out) in SAYS.items():
            notes = self.notes(values)
            for part in says:
                self.assertIn(part, notes, values)
            for part in leaves_out:
                self.assertNotIn(part, notes, values)
            self.assertNotRegex(notes, r"\n\n\n| \n|<no value>|%!")


if __name__ == "__main__":
    unittest.main()
