"""The chart as helm renders it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "helm" / "evenpack"
HELM = ROOT / "build-test-helm" / "helm"
VALUES = Path(__file__).parent / "values"

# An object of Kubernetes.
Object = dict[str, Any]

# The values' files that all renderings are checked with; None: the chart's own alone.
MATRIX: tuple[str | None, ...] = (
    None,
    *sorted(path.stem for path in VALUES.glob("*.yaml")),
)


class OnceLoader(yaml.SafeLoader):
    """As kustomize and others do, takes no key of a mapping twice."""

    def construct_mapping(
        self, node: yaml.MappingNode, deep: bool = False
    ) -> dict[Any, Any]:
        """The mapping, whose keys differ."""
        keys = [self.construct_object(key, deep) for key, _ in node.value]
        twice = {key for key in keys if keys.count(key) > 1}
        if twice:
            raise AssertionError(f"line {node.start_mark.line + 1}: {twice} twice")
        return super().construct_mapping(node, deep)


class RefusedError(Exception):
    """What helm said instead of a rendering."""


def values_flags(name: str | None) -> list[str]:
    """The flags of one of MATRIX."""
    return [] if name is None else ["--values", str(VALUES / f"{name}.yaml")]


def run_helm(*arguments: str) -> str:
    """Its standard output; RefusedError with its standard error."""
    done = subprocess.run(
        [HELM, *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    if done.returncode != 0:
        raise RefusedError(done.stdout + done.stderr)
    return done.stdout


def render_text(
    flags: Sequence[str] = (),
    chart: Path = CHART,
    release: str = "evenpack",
    namespace: str = "training",
) -> str:
    """What `helm template` writes."""
    return run_helm("template", release, str(chart), "--namespace", namespace, *flags)


def render(
    flags: Sequence[str] = (),
    chart: Path = CHART,
    release: str = "evenpack",
    namespace: str = "training",
) -> list[Object]:
    """The objects of that."""
    text = render_text(flags, chart, release, namespace)
    return [each for each in yaml.load_all(text, OnceLoader) if each is not None]


def the(objects: Sequence[Object], kind: str, name: str | None = None) -> Object:
    """The one object of a kind, and perhaps name."""
    found = [
        each
        for each in objects
        if each["kind"] == kind and name in (None, each["metadata"]["name"])
    ]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} objects of kind {kind} with name {name}")
    return found[0]


def pod_of(each: Object) -> Object | None:
    """The specification of the pods that an object makes; None where it makes none."""
    if each["kind"] == "Pod":
        spec: Object = each["spec"]
        return spec
    if each["kind"] in ("StatefulSet", "DaemonSet"):
        template: Object = each["spec"]["template"]["spec"]
        return template
    if each["metadata"]["name"].endswith("-worker-sidecar"):
        patch: Object = yaml.safe_load(each["data"]["pod.yaml"])["spec"]
        return patch
    return None


def containers_of(pod: Object) -> Iterator[Object]:
    """All containers that the chart says an image for, those that start first too."""
    for each in (*pod.get("initContainers", ()), *pod["containers"]):
        if "image" in each:
            yield each
