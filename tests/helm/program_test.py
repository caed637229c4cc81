"""evenpack-server with the very arguments and configuration that the chart renders.

Its probes are asked as the kubelet would ask them, and the pod of `helm test` is run.
"""

from __future__ import annotations

import signal
import stat
import tempfile
import unittest
from pathlib import Path

from chart import Object, the
from pod_process import ADDRESS, http_status, variables_of
from release_process import EVENPACKCTL, Release


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
