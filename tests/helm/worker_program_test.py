"""evenpack-worker --serve with the very arguments that the chart renders."""

from __future__ import annotations

import os
import signal
import tempfile
import unittest
from pathlib import Path

import yaml
from chart import the
from free_ports import free_ports
from pod_process import (
    ADDRESS,
    PodFolders,
    PodProcess,
    http_status,
)
from release_process import Release

WORKER = os.environ["EVENPACK_WORKER_PROGRAM"]


class SidecarTest(unittest.TestCase):
    def test_workers_of_two_ranks_start(self) -> None:
        root = Path(self.enterContext(tempfile.TemporaryDirectory()))
        ports = free_ports(2)
        release = Release(
            root / "server",
            flags=[
                "--set=sidecar.enabled=true,sidecar.ranksPerPod=2",
                f"--set=sidecar.httpPort={ports[0]},sidecar.memory=64MB",
            ],
        )
        self.enterContext(release.start()).await_started()
        config_map = the(release.objects, "ConfigMap", "evenpack-worker-sidecar")
        pod = yaml.safe_load(config_map["data"]["pod.yaml"])["spec"]
        folders = PodFolders(root / "trainer", release.objects, pod)
        for rank, container in enumerate(pod["initContainers"]):
            worker = self.enterContext(
                PodProcess(WORKER, container, folders, release.names)
            )
            worker.await_started()
            for socket in ("worker.sock", "attach.sock"):
                mount = pod["containers"][0]["volumeMounts"][rank]["mountPath"]
                self.assertTrue((folders.at(mount) / socket).is_socket(), socket)
            url = f"http://{ADDRESS}:{ports[rank]}/metrics"
            self.assertEqual(http_status(url), 200)
            worker.signal(signal.SIGTERM)
            self.assertEqual(worker.wait(), 0)


if __name__ == "__main__":
    unittest.main()
