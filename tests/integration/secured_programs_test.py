"""The programs together, over TLS, by certificates and tokens."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from agent_process import AgentProcess
from attention_trainers import SIDECAR_TRAINER, AttentionTrainer, create_job
from evenpack.v1 import packing_service_pb2_grpc as rpc
from role_callers import CallerCertificates, hash_of, tls_flags
from server_process import ServerProcess
from worker_service_process import WorkerServiceProcess

CONTROL = os.environ["EVENPACKCTL"]
LENGTHS = Path(os.environ["EVENPACK_SOURCE_DIR"], "deploy/data/lengths/wlbllm.txt")
REFUSED = 3
ROLES = ("operator", "producer", "consumer")


@dataclass(frozen=True)
class _Behind:
    """What is made for a server, at another address."""

    grpc_address: str
    stub: rpc.PackingServiceStub


class SecuredProgramsTest(unittest.TestCase):
    """A server that wants TLS, and a role of each caller."""

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.certificates = CallerCertificates(self.folder)
        grants = ["grants:"]
        for role in ROLES:
            self.token_file(role).write_text(f"{self.token(role)}\n")
            grants += [
                f"  - role: {role}",
                "    jobs: ['*']",
                f"    tokens: ['{role}:{hash_of(self.token(role))}']",
            ]
        grants += ["  - role: operator", "    jobs: ['*']", "    subjects: [CN=client]"]
        roles = self.folder / "roles.yaml"
        roles.write_text("\n".join(grants) + "\n")
        flags = [*tls_flags(self.certificates), "--roles", str(roles)]
        self.server = self.enterContext(ServerProcess(*flags))
        self.ca = ["--tls-ca", str(self.certificates.pem("ca"))]

    @staticmethod
    def token(role: str) -> str:
        """Of whoever has it."""
        return f"the-token-of-the-{role}"

    def token_file(self, role: str) -> Path:
        """With that."""
        return self.folder / f"{role}.token"

    def by_certificate(self) -> list[str]:
        """The flags of an operator."""
        pem, key = self.certificates.pem("client"), self.certificates.key("client")
        return [*self.ca, "--tls-certificate", str(pem), "--tls-key", str(key)]

    def by_token(self, role: str) -> list[str]:
        """The flags of who has the role."""
        return [*self.ca, "--token-file", str(self.token_file(role))]

    def control(
        self, *arguments: str, flags: list[str], server: str = "", status: int = 0
    ) -> str:
        """What evenpackctl wrote; no token is in it."""
        address = ["--server", server or self.server.grpc_address]
        done = subprocess.run(
            [CONTROL, *arguments, *address, *flags],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        output = done.stdout + done.stderr
        self.assertEqual(done.returncode, status, output)
        for role in ROLES:
            self.assertNotIn(self.token(role), output)
        return output

    def agent(self, flags: list[str], listen: str = "127.0.0.1:0") -> AgentProcess:
        """Which the server knows by the flags."""
        made = AgentProcess(self.server.grpc_address, *flags, listen=listen, http=False)
        return self.enterContext(made)

    def digests(self, flags: list[str], server: str = "") -> list[str]:
        """Of the steps of a rank that is followed."""
        rank = ["follow", "--job", "run", "--dp-rank", "0"]
        first = ["--ack", "none", "--steps", "20", "--json"]
        lines = self.control(*rank, *first, flags=flags, server=server).splitlines()
        return [json.loads(line)["digest"] for line in lines]

    def test_each_role_does_its_part(self) -> None:
        """Directly, and by an agent that has the part alone."""
        # All of the documents fit, before a step was taken.
        roomy = ["--window", "131072", "--max-buffered-tokens", "1000000000"]
        self.control("jobs", "create", "run", *roomy, flags=self.by_certificate())
        sent = ["ingest", "--job", "run", "--lengths", str(LENGTHS), "--end-of-stream"]
        said = self.control(*sent, flags=self.by_token("consumer"), status=REFUSED)
        self.assertIn("role", said)
        self.control(*sent, flags=self.by_token("producer"))
        steps = self.digests(self.by_token("consumer"))
        self.assertEqual(len(steps), 20)
        socket = f"unix:{self.folder / 'agent.sock'}"
        self.agent(self.by_token("consumer"), listen=socket)
        self.assertEqual(self.digests([], server=socket), steps)
        # Its client's token is not the agent's.
        flags = ["--token-file", str(self.token_file("operator"))]
        delete = ["jobs", "delete", "run"]
        self.control(*delete, flags=flags, server=socket, status=REFUSED)
        self.control(*delete, flags=self.by_token("operator"))

    def test_who_has_no_identity_is_told_so_at_once(self) -> None:
        """And keeps nobody waiting for the time that a server may be away."""
        said = self.control("jobs", "list", flags=self.ca, status=REFUSED)
        self.assertNotIn("gave up", said)
        (self.folder / "unknown.token").write_text("nobody's")
        unknown = ["--token-file", str(self.folder / "unknown.token")]
        said = self.control("jobs", "list", flags=[*self.ca, *unknown], status=REFUSED)
        self.assertNotIn("nobody's", said)

    def test_sidecars_form_their_group(self) -> None:
        """By tokens of their own; their trainers have their steps by an agent."""
        operator = self.agent(self.by_certificate())
        consumer = self.agent(self.by_token("consumer"))
        # All of a server that what is made for one uses of it.
        behind = cast(ServerProcess, _Behind(consumer.grpc_address, operator.stub))
        steps = create_job(behind, 2)
        trainers = []
        for cp_rank in range(2):
            worker = self.enterContext(
                WorkerServiceProcess(
                    self.server.grpc_address, *self.by_token("consumer")
                )
            )
            program = [SIDECAR_TRAINER, worker.folder]
            of_rank = (0, cp_rank)
            trainer = AttentionTrainer(program, behind, of_rank, f"m{cp_rank}", 0)
            trainers.append(self.enterContext(trainer))
        for trainer in trainers:
            trainer.take_all()
            self.assertEqual(trainer.steps, [*range(steps)])


if __name__ == "__main__":
    unittest.main()
