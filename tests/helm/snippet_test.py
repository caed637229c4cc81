"""The worker's containers for trainers' pods: as a ConfigMap, and in another chart."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

import yaml
from chart import CHART, HELM, Object, render, the, values_flags

KUBECTL = HELM.with_name("kubectl")
TRAINER_POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "trainer", "labels": {"run": "7"}},
    "spec": {
        "initContainers": [{"name": "fetch", "image": "fetch:1"}],
        "containers": [
            {
                "name": "trainer",
                "image": "trainer:1",
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            }
        ],
        "volumes": [{"name": "data", "emptyDir": {}}],
    },
}

PARENT_CHART = """\
apiVersion: v2
name: trainer
version: 1.0.0
dependencies:
  - name: evenpack
    version: ">=0"
    condition: evenpack.enabled
"""
PARENT_VALUES = """\
evenpack:
  enabled: true
  server: {enabled: false}
  externalServer: packer.infra.svc:7654
  sidecar: {ranksPerPod: 2}
"""
# As docs/kubernetes.md has it, in a pod of its own.
PARENT_TEMPLATE = """\
apiVersion: v1
kind: Pod
metadata:
  name: trainer
  labels:
    evenpack/worker: sidecar
spec:
  initContainers:
    {{- include "evenpack.workerSidecar" .Subcharts.evenpack | nindent 4 }}
  containers:
    - name: trainer
      image: trainer:1
      volumeMounts:
        {{- include "evenpack.workerSidecarMounts" .Subcharts.evenpack | nindent 8 }}
  volumes:
    {{- include "evenpack.workerSidecarVolumes" .Subcharts.evenpack | nindent 4 }}
"""


def parent_chart(folder: Path) -> Path:
    """A chart that depends on this one and has a trainer."""
    parent = folder / "trainer"
    (parent / "templates").mkdir(parents=True)
    shutil.copytree(CHART, parent / "charts" / "evenpack")
    for name, text in (
        ("Chart.yaml", PARENT_CHART),
        ("values.yaml", PARENT_VALUES),
        ("templates/pod.yaml", PARENT_TEMPLATE),
    ):
        (parent / name).write_text(text, encoding="utf-8")
    return parent


def snippet(*flags: str) -> Object:
    """The ConfigMap's pod, with sidecars asked for."""
    objects = render(["--set", "sidecar.enabled=true", *flags])
    config_map = the(objects, "ConfigMap", "evenpack-worker-sidecar")
    pod: Object = yaml.safe_load(config_map["data"]["pod.yaml"])
    return pod


def argument(container: Object, flag: str) -> str:
    """What follows a flag."""
    given: list[str] = container["args"]
    return given[given.index(flag) + 1]


class SnippetTest(unittest.TestCase):
    def test_a_chart_that_depends_on_this_one_has_the_same(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (pod,) = [
            each
            for each in render([], parent_chart(folder))
            if each["kind"] == "Pod" and each["metadata"]["name"] == "trainer"
        ]
        own = snippet(
            *("--set", "sidecar.ranksPerPod=2,server.enabled=false"),
            *("--set", "externalServer=packer.infra.svc:7654"),
        )
        for field in ("initContainers", "volumes"):
            self.assertEqual(pod["spec"][field], own["spec"][field], field)
        trainers = [each["spec"]["containers"][0] for each in (pod, own)]
        self.assertEqual(trainers[0]["volumeMounts"], trainers[1]["volumeMounts"])
        self.assertEqual(pod["metadata"]["labels"], own["metadata"]["labels"])

    def test_it_patches_a_trainers_pod(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "pod.json").write_text(json.dumps(TRAINER_POD), encoding="utf-8")
        patch = snippet()
        (folder / "sidecar.yaml").write_text(yaml.safe_dump(patch), encoding="utf-8")
        patched = json.loads(
            subprocess.run(
                [
                    *(KUBECTL, "patch", "--local", "--type=strategic", "--output=json"),
                    *("--filename", folder / "pod.json"),
                    *("--patch-file", folder / "sidecar.yaml"),
                ],
                check=True,
                capture_output=True,
                text=True,
                timeout=60,
                env={"HOME": str(folder), "KUBECONFIG": "/dev/null"},
            ).stdout
        )
        spec = patched["spec"]
        self.assertEqual(
            {each["name"] for each in spec["initContainers"]},
            {"evenpack-worker-0", "fetch"},
        )
        (trainer,) = spec["containers"]
        self.assertEqual(trainer["image"], "trainer:1")
        for mounts in (trainer["volumeMounts"], spec["volumes"]):
            self.assertEqual({each["name"] for each in mounts}, {"data", "evenpack-0"})
        self.assertEqual(
            patched["metadata"]["labels"], {"run": "7", "evenpack/worker": "sidecar"}
        )

    def test_each_rank_has_a_worker_of_its_own(self) -> None:
        pod = snippet("--set", "sidecar.ranksPerPod=8")["spec"]
        workers = pod["initContainers"]
        self.assertEqual(len(workers), 8)
        folders: list[Any] = [argument(each, "--socket-folder") for each in workers]
        self.assertEqual(folders, [f"/run/evenpack/{rank}" for rank in range(8)])
        for values in (
            [each["name"] for each in workers],
            [each["ports"][0]["name"] for each in workers],
            [each["ports"][0]["containerPort"] for each in workers],
            [argument(each, "--http-listen") for each in workers],
        ):
            self.assertEqual(len(set(values)), 8)
        for worker in workers:
            self.assertEqual(worker["restartPolicy"], "Always")
            (mount,) = worker["volumeMounts"]
            self.assertIn(mount, pod["containers"][0]["volumeMounts"])
            self.assertIn(mount["name"], {each["name"] for each in pod["volumes"]})

    def test_whom_workers_follow(self) -> None:
        for flags, server in (
            ([], "evenpack.training.svc:7654"),
            (["--set", "agent.enabled=true"], "evenpack-agent.training.svc:7654"),
            (
                ["--set", "agent.enabled=true,agent.expose=hostPort"],
                "evenpack.training.svc:7654",
            ),
            (values_flags("workers"), "evenpack-agent.training.svc:7654"),
            (
                ["--set", "server.enabled=false,externalServer=packer.infra.svc:1"],
                "packer.infra.svc:1",
            ),
        ):
            (worker, *_) = snippet(*flags)["spec"]["initContainers"]
            self.assertEqual(argument(worker, "--server"), server, flags)

    def test_a_trainer_of_another_user(self) -> None:
        for flags, given in ((["--set", "sidecar.trainerUser=0"], True), ([], False)):
            (worker,) = snippet(*flags)["spec"]["initContainers"]
            self.assertEqual("--trainer-user" in worker["args"], given)
            if given:
                self.assertEqual(argument(worker, "--trainer-user"), "0")


if __name__ == "__main__":
    unittest.main()
