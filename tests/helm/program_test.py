"""evenpack-server with the very arguments and configuration that the chart renders.

Its probes are asked as the kubelet would ask them, and the pod of `helm test` is run.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

from chart import Object, pod_of, render, the, values_flags
from pod_process import (
    ADDRESS,
    PodFolders,
    PodProcess,
    free_ports,
    http_status,
    variables_of,
)

SERVER = os.environ["EVENPACK_SERVER_PROGRAM"]
EVENPACKCTL = Path(os.environ["EVENPACKCTL"])


class Release:
    """A rendered chart on ports that are free, and the folders of its server's pod."""

    def __init__(self, root: Path, values: str | None = None) -> None:
        """Renders it, and makes them below `root`."""
        ports = dict(zip(("grpc", "http", "health"), free_ports(3), strict=True))
        flags = [f"--set=server.ports.{name}={port}" for name, port in ports.items()]
        # No machine of the tests need have IPv6.
        flags.append("--set=server.bindAddress=0.0.0.0")
        self.objects = render([*values_flags(values), *flags])
        self.ports = ports
        stateful_set = the(self.objects, "StatefulSet")
        pod = pod_of(stateful_set)
        assert pod is not None
        self.pod = pod
        self.folders = PodFolders(root, self.objects, pod)
        service = the(self.objects, "Service", stateful_set["metadata"]["name"])
        listed = {port["name"]: port["port"] for port in service["spec"]["ports"]}
        namespace = service["metadata"]["namespace"]
        # As names of the cluster, and where they lead here.
        self.names = {
            f"{service['metadata']['name']}.{namespace}.svc:{listed['grpc']}": (
                f"{ADDRESS}:{ports['grpc']}"
            )
        }

    def start(self) -> PodProcess:
        """Its server."""
        return PodProcess(SERVER, self.pod["containers"][0], self.folders)

    def evenpackctl(self, *arguments: str) -> str:
        """What it writes."""
        return subprocess.run(
            [EVENPACKCTL, *arguments, "--server", f"{ADDRESS}:{self.ports['grpc']}"],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout

    def run_test_pod(self, programs: Path) -> subprocess.CompletedProcess[str]:
        """The pod of `helm test`, with what is in a folder in front of the PATH."""
        pod = the(self.objects, "Pod")["spec"]
        (container,) = pod["containers"]
        variables = variables_of(container, {})
        variables["EVENPACK_SERVER"] = self.names[variables["EVENPACK_SERVER"]]
        path = f"{programs}:{os.environ['PATH']}"
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run(
                container["command"],
                env={**os.environ, **variables, "PATH": path, "TMPDIR": folder},
                capture_output=True,
                text=True,
                check=False,
                timeout=pod["activeDeadlineSeconds"],
            )


class ServerTest(unittest.TestCase):
    def release(self, values: str | None = None) -> Release:
        root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        return Release(root, values)

    def test_probes(self) -> None:
        for values in (None, "memory", "everything"):
            with self.subTest(values):
                release = self.release(values)
                server = self.enterContext(release.start())
                server.await_started()
                for kind in ("readiness", "liveness"):
                    self.assertTrue(server.probe(kind), kind)
                url = f"http://{ADDRESS}:{release.ports['http']}/metrics"
                self.assertEqual(http_status(url), 200)

    def test_it_writes_to_its_volumes_alone(self) -> None:
        release = self.release()
        root = release.folders.root
        before = {path for path in root.rglob("*") if path.is_file()}
        with release.start() as server:
            server.await_started()
            release.evenpackctl("jobs", "create", "run", "--window", "1024")
            after = {path for path in root.rglob("*") if path.is_file()}
        mounts = release.pod["containers"][0]["volumeMounts"]
        writable = [
            release.folders.at(mount["mountPath"])
            for mount in mounts
            if not mount.get("readOnly")
        ]
        self.assertIn(release.folders.at("/var/lib/evenpack") / "store", after)
        for path in after - before:
            self.assertTrue(any(path.is_relative_to(each) for each in writable), path)

    def test_a_drain_ends_within_the_grace_period(self) -> None:
        release = self.release()
        server = self.enterContext(release.start())
        server.await_started()
        server.signal(signal.SIGTERM)
        server.await_probe("readiness", False)
        self.assertGreater(release.pod["terminationGracePeriodSeconds"], 20)
        # Nobody is connected, so it takes no time at all.
        self.assertEqual(server.wait(), 0)

    def test_the_next_pod_goes_on(self) -> None:
        release = self.release()
        with release.start() as server:
            server.await_started()
            release.evenpackctl("jobs", "create", "run", "--window", "1024")
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait(), 0)
        with release.start() as server:
            server.await_started()
            self.assertIn("run", release.evenpackctl("jobs", "list"))


class HelmTestTest(unittest.TestCase):
    def setUp(self) -> None:
        root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.release = Release(root)
        self.enterContext(self.release.start()).await_started()

    def programs(self, script: str) -> Path:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        program = folder / "evenpackctl"
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        return folder

    def test_it_passes_and_leaves_nothing(self) -> None:
        # The second also finds what a first one left that was killed.
        self.release.evenpackctl("jobs", "create", self.job(), "--window", "512")
        for _ in range(2):
            done = self.release.run_test_pod(EVENPACKCTL.parent)
            self.assertEqual(done.returncode, 0, done)
            self.assertIn("200 received, 200 of them distinct", done.stdout)
            self.assertNotIn(self.job(), self.release.evenpackctl("jobs", "list"))

    def job(self) -> str:
        pod: Object = the(self.release.objects, "Pod")["spec"]
        return variables_of(pod["containers"][0], {})["EVENPACK_TEST_JOB"]

    def test_it_fails_where_documents_are_lost(self) -> None:
        for script in (
            f'{EVENPACKCTL} "$@" | {{ [ "$1" = follow ] && sed 1d || cat; }}',
            f'{EVENPACKCTL} "$@" | {{ [ "$1" = follow ] && sed p || cat; }}',
            f'[ "$1" = ingest ] || exec {EVENPACKCTL} "$@"; exit 3',
            f'[ "$1" = follow ] || exec {EVENPACKCTL} "$@"; exit 4',
            "exit 4",
        ):
            done = self.release.run_test_pod(self.programs(script))
            self.assertNotEqual(done.returncode, 0, (script, done))
            self.assertNotIn(self.job(), self.release.evenpackctl("jobs", "list"))


if __name__ == "__main__":
    unittest.main()
