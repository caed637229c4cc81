"""evenpack-server as the chart renders it for a database, TLS and roles.

With a real PostgreSQL, real certificates, and Secrets laid out as the kubelet does it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from certificates import Certificates
from chart import ROOT, pod_of, the
from child_process import wait_until
from free_ports import free_ports
from pod_process import ADDRESS, PodFolders, PodProcess
from postgresql_server import PASSWORD, SECRET_USER, PostgresqlServer
from release_process import EVENPACKCTL, Release

WORKER = os.environ["EVENPACK_WORKER_PROGRAM"]
LEADERS = f"SELECT DISTINCT address FROM {SECRET_USER}.evenpack_places"
# Its hash is in values/secure.yaml.
TOKEN = "a-token-for-tests"
REFUSED = 3
ROLES = """\
grants:
  - {role: operator, jobs: ["*"], subjects: ["dns:trainer.example"]}
"""


def documented_sql() -> str:
    """The queries of docs/operations.md."""
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    (found,) = re.findall(r"```sql\n(.*?)```", text, re.DOTALL)
    return str(found)


class SecureProgramTest(unittest.TestCase):
    database: ClassVar[PostgresqlServer]

    @classmethod
    def setUpClass(cls) -> None:
        database = PostgresqlServer(durable=False)
        cls.database = cls.enterClassContext(database)
        database.start()
        database.sql(f"CREATE ROLE {SECRET_USER} LOGIN PASSWORD '{PASSWORD}'")

    def setUp(self) -> None:
        self.root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.root / "certificates").mkdir()
        self.certificates = Certificates(self.root / "certificates")
        self.database.sql(f"CREATE SCHEMA {SECRET_USER} AUTHORIZATION {SECRET_USER}")
        self.addCleanup(self.database.sql, f"DROP SCHEMA {SECRET_USER} CASCADE")

    def text(self, name: str) -> str:
        return (self.root / "certificates" / name).read_text(encoding="utf-8")

    def pair(self, name: str) -> dict[str, str]:
        """As a Secret of type kubernetes.io/tls has them, and cert-manager."""
        return {
            "tls.crt": self.text(f"{name}.pem"),
            "tls.key": self.text(f"{name}.key"),
            "ca.crt": self.text("ca.pem"),
        }

    def release(
        self, values: str, pod: str = "pod", flags: Sequence[str] = ()
    ) -> Release:
        """A server of these values, on the database, that is not started."""
        target = f"host=127.0.0.1 port={self.database.port} dbname=postgres"
        secrets = {
            "packer-tls": self.pair("server"),
            "evenpack-tls": self.pair("server"),
            "trainers-ca": {"ca.crt": self.text("ca.pem")},
            "database": {"password": PASSWORD},
            "db-app": {"password": PASSWORD},
            "database-ca": {"ca.crt": self.text("ca.pem")},
            "roles": {"roles.yaml": ROLES},
            "ops-tls": self.pair("client"),
            "agent-tls": self.pair("client"),
            "test-token": {"token": TOKEN},
        }
        flags = [*flags, f"--set=store.postgresql.target={target} user={SECRET_USER}"]
        return Release(self.root / pod, values, flags, secrets)

    def start(self, values: str) -> tuple[Release, PodProcess]:
        """That, started."""
        release = self.release(values)
        server = self.enterContext(release.start())
        server.await_started()
        return release, server

    def flags(self, who: str = "", **more: str) -> list[str]:
        """Of a client, perhaps with a certificate."""
        found = ["--tls-ca", str(self.certificates.pem("ca"))]
        if who:
            found += ["--tls-certificate", str(self.certificates.pem(who))]
            found += ["--tls-key", str(self.certificates.key(who))]
        return [*found, *(f"--{k.replace('_', '-')}={v}" for k, v in more.items())]

    @staticmethod
    def advertised(release: Release) -> str:
        """HOST:PORT of its first pod within the cluster."""
        name = "evenpack-0.evenpack-headless.training.svc"
        return f"{name}:{release.ports['grpc']}"

    @staticmethod
    def await_answer(release: Release, *arguments: str) -> None:
        """Until it lets a client do that."""
        wait_until(lambda: release.ask(*arguments).returncode == 0, str(arguments))

    def check_refused(
        self, done: subprocess.CompletedProcess[str], reason: str
    ) -> None:
        self.assertEqual(done.returncode, REFUSED, done)
        self.assertIn(reason, done.stderr)

    def test_certificates_or_tokens(self) -> None:
        release, server = self.start("secure")
        for kind in ("readiness", "liveness"):
            self.assertTrue(server.probe(kind), kind)
        self.assertNotIn(PASSWORD, server.stderr())

        done = release.run_test_pod(EVENPACKCTL.parent)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("200 received, 200 of them distinct", done.stdout)

        release.evenpackctl("jobs", "list", *self.flags("client"))
        create = ("jobs", "create", "run-1", "--window", "1024")
        refused = release.ask(*create, *self.flags("client"))
        self.check_refused(refused, "has not the role 'operator'")
        self.check_refused(
            release.ask("jobs", "list", *self.flags()),
            "neither a certificate nor a token",
        )
        plaintext = release.ask("jobs", "list", "--timeout", "2")
        self.assertNotEqual(plaintext.returncode, 0)

        address = self.database.sql(
            f"SELECT address FROM {SECRET_USER}.evenpack_servers"
        )
        self.assertEqual(address, self.advertised(release))

    def test_what_changes_arrives_without_a_restart(self) -> None:
        release, server = self.start("secure")
        create = ("jobs", "create", "run-1", "--window", "1024")
        refused = release.ask(*create, *self.flags("client"))
        self.check_refused(refused, "has not the role 'operator'")

        release.folders.write("/etc/evenpack-roles", {"roles.yaml": ROLES})
        self.await_answer(release, *create, *self.flags("client"))

        release.folders.write("/etc/evenpack-tls", self.pair("named"))
        client = self.flags("client", tls_server_name="packer.example", timeout="2")
        self.await_answer(release, "jobs", "list", *client)
        self.assertTrue(server.runs())

    def test_jobs_go_on_with_the_pods_that_stay(self) -> None:
        releases = [self.release("secure", pod) for pod in ("first", "second")]
        servers = []
        for each in releases:
            # Each pod's own name leads to it.
            names = {self.advertised(each): each.address}
            servers.append(self.enterContext(each.start(names)))
            servers[-1].await_started()
        releases[0].folders.write("/etc/evenpack-roles", {"roles.yaml": ROLES})
        releases[1].folders.write("/etc/evenpack-roles", {"roles.yaml": ROLES})
        client = self.flags("client")
        jobs = [f"run-{number}" for number in range(4)]
        for number, job in enumerate(jobs):
            create = ("jobs", "create", job, "--window", "1024", *client)
            self.await_answer(releases[number % 2], *create)

        led = set(self.database.sql(LEADERS).split())
        self.assertEqual(led, {each.address for each in releases})
        shown = self.database.sql(
            f"SET search_path TO {SECRET_USER}; {documented_sql()}"
        )
        for text in (*jobs, *led, "evenpack_records"):
            self.assertIn(text, shown)
        servers[0].signal(signal.SIGTERM)
        self.assertEqual(servers[0].wait(), 0)
        self.assertEqual(self.database.sql(LEADERS), releases[1].address)
        for job in jobs:
            releases[1].evenpackctl("jobs", "describe", job, *client)

    def test_an_agent_shows_its_certificate(self) -> None:
        ports = dict(zip(("grpc", "http"), free_ports(2), strict=True))
        flags = [f"--set=agent.ports.{name}={port}" for name, port in ports.items()]
        release = self.release("mutual", flags=flags)
        self.enterContext(release.start()).await_started()
        pod = pod_of(the(release.objects, "DaemonSet"))
        assert pod is not None
        folders = PodFolders(
            self.root / "agent", release.objects, pod, release.folders.secrets
        )
        agent = self.enterContext(
            PodProcess(WORKER, pod["containers"][0], folders, release.names)
        )
        agent.await_started()
        agent.await_probe("readiness", True)
        # Whoever reaches the agent is to the server who the agent is.
        listed = subprocess.run(
            [EVENPACKCTL, "jobs", "list", "--server", f"{ADDRESS}:{ports['grpc']}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        self.assertEqual(listed.returncode, 0, listed)

    def test_certificates_alone(self) -> None:
        release, server = self.start("mutual")
        # The kubelet has no certificate.
        self.assertTrue(server.probe("readiness"))
        done = release.run_test_pod(EVENPACKCTL.parent)
        self.assertEqual(done.returncode, 0, done)
        for who in ("", "stranger"):
            refused = release.ask("jobs", "list", *self.flags(who, timeout="2"))
            self.assertNotEqual(refused.returncode, 0, refused)


if __name__ == "__main__":
    unittest.main()
