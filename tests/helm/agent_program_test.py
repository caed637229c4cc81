"""evenpack-worker --agent with the very arguments that the chart renders."""

from __future__ import annotations

import os
import signal
import tempfile
import unittest
from pathlib import Path

from chart import Object, pod_of, the
from free_ports import free_ports
from pod_process import ADDRESS, PodFolders, PodProcess
from release_process import EVENPACKCTL, Release

WORKER = os.environ["EVENPACK_WORKER_PROGRAM"]


class AgentTest(unittest.TestCase):
    def start(self, expose: str) -> None:
        """A server, and the agent of a node."""
        root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.ports = dict(zip(("grpc", "http"), free_ports(2), strict=True))
        self.release = Release(
            root / "server",
            flags=[
                f"--set=agent.enabled=true,agent.expose={expose}",
                "--set=agent.maxStepsAhead=64,agent.memory=64MB",
                *(f"--set=agent.ports.{name}={p}" for name, p in self.ports.items()),
            ],
        )
        self.enterContext(self.release.start()).await_started()
        pod = pod_of(the(self.release.objects, "DaemonSet"))
        assert pod is not None
        self.pod: Object = pod
        self.folders = PodFolders(root / "agent", self.release.objects, pod)
        self.agent = self.enterContext(
            PodProcess(WORKER, pod["containers"][0], self.folders, self.release.names)
        )
        self.agent.await_started()

    def check(self, address: str) -> None:
        """What `helm test` runs, by way of the agent."""
        for kind in ("readiness", "liveness"):
            self.agent.await_probe(kind, True)
        done = self.release.run_test_pod(EVENPACKCTL.parent, address)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("200 received, 200 of them distinct", done.stdout)
        self.agent.signal(signal.SIGTERM)
        self.assertEqual(self.agent.wait(), 0)

    def test_behind_a_service_or_a_port_of_the_node(self) -> None:
        for expose in ("service", "hostPort"):
            self.start(expose)
            self.check(f"{ADDRESS}:{self.ports['grpc']}")

    def test_at_a_socket(self) -> None:
        self.start("socket")
        (mount,) = [
            each["mountPath"]
            for each in self.pod["containers"][0]["volumeMounts"]
            if each["name"] == "socket"
        ]
        self.check(f"unix:{self.folders.at(mount) / 'agent.sock'}")


if __name__ == "__main__":
    unittest.main()
