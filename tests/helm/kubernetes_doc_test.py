"""What docs/kubernetes.md shows: its values and templates render, its flags exist."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml
from chart import CHART, HELM, ROOT, Object, render, the

KUBECTL = HELM.with_name("kubectl")
PAGE = ROOT / "docs" / "kubernetes.md"
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"\A# ([\w./]+\.yaml)")
# Kinds of the trainers' operators, and where their pods' template is.
TRAINERS = {
    "PyTorchJob": ("pytorchReplicaSpecs", "Worker", "template"),
    "JobSet": ("replicatedJobs", 0, "template", "spec", "template"),
    "LeaderWorkerSet": ("leaderWorkerTemplate", "workerTemplate"),
}
RELEASE = "1.35"
# How a block begins that is none of the chart's values.
MANIFEST = "apiVersion:"


def blocks(language: str) -> list[str]:
    """The page's fenced blocks of a language."""
    return [
        text
        for _, kind, text in BLOCK.findall(PAGE.read_text(encoding="utf-8"))
        if kind == language
    ]


def commands(program: str) -> Iterator[list[str]]:
    """The words of each command of a program in the page's shell blocks."""
    for text in blocks("sh"):
        for command in re.split(r"\n(?= *(?:helm|kubectl|evenpackctl) )", text):
            words = shlex.split(command.replace("\\\n", " "))
            if words[:1] == [program]:
                yield words


def at(value: Any, path: tuple[str | int, ...]) -> Any:  # noqa: ANN401
    """A part of an object."""
    for name in path:
        value = value[name]
    return value


def secret_keys(value: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """The keys of Secrets that an object takes by their names."""
    if isinstance(value, list):
        for each in value:
            yield from secret_keys(each)
    if not isinstance(value, dict):
        return
    if reference := value.get("secretKeyRef"):
        yield reference["name"], reference["key"]
    secret = value.get("secret")
    if isinstance(secret, dict):
        for item in secret.get("items", ()):
            yield secret.get("name") or secret["secretName"], item["key"]
    for each in value.values():
        yield from secret_keys(each)


class KubernetesDocTest(unittest.TestCase):
    def parent_chart(self) -> Path:
        """The chart that the page's files make, with this one beside it."""
        parent = Path(self.enterContext(tempfile.TemporaryDirectory())) / "trainer"
        (parent / "templates").mkdir(parents=True)
        shutil.copytree(CHART, parent / "charts" / "evenpack")
        for text in blocks("yaml"):
            if name := FILE.match(text):
                whole = "apiVersion: v2\nname: trainer\nversion: 1.0.0\n"
                whole = whole if name.group(1) == "Chart.yaml" else ""
                (parent / name.group(1)).write_text(whole + text, encoding="utf-8")
        return parent

    def check_pod(self, template: Object) -> None:
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "trainer", **template["metadata"]},
            "spec": template["spec"],
        }
        kubernetes_validate.validate(pod, RELEASE, strict=True)
        (worker,) = template["spec"]["initContainers"]
        self.assertEqual(worker["restartPolicy"], "Always")
        self.assertIn("evenpack.training.svc:7654", worker["args"])
        self.assertEqual(template["metadata"]["labels"], {"evenpack/worker": "sidecar"})
        (trainer,) = template["spec"]["containers"]
        self.assertEqual(trainer["volumeMounts"], worker["volumeMounts"])
        self.assertEqual(
            [each["name"] for each in template["spec"]["volumes"]],
            [each["name"] for each in trainer["volumeMounts"]],
        )

    def test_trainers_with_sidecars(self) -> None:
        objects = render([], self.parent_chart(), namespace="training")
        for kind, path in TRAINERS.items():
            trainer = the(objects, kind)
            self.assertEqual(set(trainer), {"apiVersion", "kind", "metadata", "spec"})
            self.check_pod(at(trainer["spec"], path))
        jobs = the(objects, "JobSet")["spec"]["replicatedJobs"]
        job = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": jobs[0]["name"]},
            **jobs[0]["template"],
        }
        kubernetes_validate.validate(job, RELEASE, strict=True)

    def test_values(self) -> None:
        texts = [
            text
            for text in blocks("yaml")
            if not FILE.match(text) and not text.startswith(MANIFEST)
        ]
        self.assertTrue(texts)
        for text in texts:
            folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
            (folder / "values.yaml").write_text(text, encoding="utf-8")
            self.assertTrue(render(["--values", str(folder / "values.yaml")]))

    def test_manifests(self) -> None:
        found = [text for text in blocks("yaml") if text.startswith(MANIFEST)]
        self.assertTrue(found)
        for text in found:
            kubernetes_validate.validate(yaml.safe_load(text), RELEASE, strict=True)

    def test_values_on_command_lines(self) -> None:
        found = 0
        for command in commands("helm"):
            for flag, value in itertools.pairwise(command):
                if flag == "--set":
                    found += 1
                    self.assertTrue(render(["--set", value]), value)
        self.assertGreater(found, 3)

    def test_values_in_prose(self) -> None:
        """Names with a point, in code, that begin as a section of values.yaml does."""
        values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
        text = BLOCK.sub("", PAGE.read_text(encoding="utf-8"))
        names = re.findall(r"`((?:\w+\.)+\w+)(?:=\S+)?(?:: [^`]*)?`", text)
        names = [name for name in names if name.partition(".")[0] in values]
        self.assertGreater(len(names), 10)
        for name in names:
            if name != "limits.memory":
                at(values, tuple(name.split(".")))

    def test_secrets_have_what_the_values_take_of_them(self) -> None:
        """Made by kubectl, without a cluster, of files as the page names them."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        made: dict[str, set[str]] = {}
        for command in commands("kubectl"):
            if command[3:5] != ["create", "secret"]:
                continue
            for word in command:
                if word.startswith("--from-file="):
                    (folder / word.split("=")[2]).write_text("text", encoding="utf-8")
            words = [str(KUBECTL), *command[1:], "--dry-run=client", "--output=yaml"]
            done = subprocess.run(
                words, cwd=folder, capture_output=True, check=True, timeout=60
            )
            secret = yaml.safe_load(done.stdout)
            made[secret["metadata"]["name"]] = set(secret["data"])
        texts = [each for each in blocks("yaml") if "kind: postgresql" in each]
        (folder / "values.yaml").write_text("".join(texts), encoding="utf-8")
        objects = render(
            [
                f"--values={folder / 'values.yaml'}",
                "--set=tls.certManager.enabled=false,tls.existingSecret=packer-tls",
            ]
        )
        used: dict[str, set[str]] = {"packer-tls": {"tls.crt", "tls.key", "ca.crt"}}
        for each in objects:
            for name, key in secret_keys(each):
                used.setdefault(name, set()).add(key)
        self.assertEqual(made, used)

    def test_the_pod_that_verifies_a_store(self) -> None:
        (command,) = [each for each in commands("kubectl") if "verify" in each]
        overrides = next(word for word in command if word.startswith("--overrides="))
        spec = json.loads(overrides.partition("=")[2])["spec"]
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "verify"},
            "spec": spec,
        }
        kubernetes_validate.validate(pod, RELEASE, strict=True)
        objects = render()
        stateful_set = the(objects, "StatefulSet")
        (claim,) = stateful_set["spec"]["volumeClaimTemplates"]
        name = f"{claim['metadata']['name']}-{stateful_set['metadata']['name']}-0"
        (volume,) = spec["volumes"]
        self.assertEqual(volume["persistentVolumeClaim"]["claimName"], name)
        config = the(objects, "ConfigMap", "evenpack")["data"]["server.yaml"]
        (container,) = spec["containers"]
        self.assertIn(f"sqlite:{container['command'][-1]}", config)


if __name__ == "__main__":
    unittest.main()
