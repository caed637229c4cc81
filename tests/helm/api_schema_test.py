"""Every object is one that Kubernetes takes, by the schemas of its API.

Objects of operators have no schema here: what this project gives them is compared with
the fields that their documents require (OPERATORS), and no more.
"""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from typing import ClassVar

import kubernetes_validate
import stand_in_chart
from chart import MATRIX, Object, pod_of, render, the, values_flags

RELEASES = ("1.27", "1.29", "1.31", "1.33", "1.35", "1.37")
# The first that has containers which start first and stay.
FIRST_WITH_SIDECARS = (1, 29)
LONGEST_NAME = 63

# Kinds of operators: API version, the fields of `spec` that must be there, and all that
# the chart may give.
OPERATORS: dict[str, tuple[str, set[str], set[str]]] = {
    "ServiceMonitor": (
        "monitoring.coreos.com/v1",
        {"endpoints", "selector"},
        {"endpoints", "selector", "namespaceSelector"},
    ),
    "PodMonitor": (
        "monitoring.coreos.com/v1",
        {"podMetricsEndpoints", "selector"},
        {"podMetricsEndpoints", "selector", "namespaceSelector"},
    ),
    "PrometheusRule": ("monitoring.coreos.com/v1", {"groups"}, {"groups"}),
    "Certificate": (
        "cert-manager.io/v1",
        {"secretName", "issuerRef", "dnsNames"},
        {
            *("secretName", "issuerRef", "dnsNames", "duration", "renewBefore"),
            *("privateKey", "usages"),
        },
    ),
}
ENDPOINT_FIELDS = {"port", "interval", "scrapeTimeout", "honorLabels", "relabelings"}


def sidecar_pod(patch: Object) -> Object:
    """A trainer's pod with the sidecar's snippet, which a schema can be asked about."""
    containers = [{**each, "image": "trainer:1"} for each in patch["containers"]]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "trainer"},
        "spec": {**patch, "containers": containers},
    }


class ApiSchemaTest(unittest.TestCase):
    renderings: ClassVar[dict[str | None, list[Object]]]

    @classmethod
    def setUpClass(cls) -> None:
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        chart = stand_in_chart.make(Path(folder))
        cls.renderings = {name: render(values_flags(name), chart) for name in MATRIX}

    def check(self, each: Object, release: str, values: str | None) -> None:
        where = (values, release, each["kind"], each["metadata"]["name"])
        try:
            used = kubernetes_validate.validate(each, release, strict=True)
        except kubernetes_validate.ValidationError as error:
            self.fail(f"{where}: {list(error.path)}: {error.message}")
        self.assertEqual(used, release)

    def test_objects_of_kubernetes(self) -> None:
        for values, objects in self.renderings.items():
            for each in objects:
                if each["kind"] in OPERATORS:
                    continue
                for release in RELEASES:
                    self.check(each, release, values)

    def test_the_schemas_know_every_field(self) -> None:
        claim = the(self.renderings[None], "StatefulSet")
        claim["spec"]["volumeClaimTemplate"] = []
        for release in RELEASES:
            with self.assertRaises(kubernetes_validate.ValidationError):
                kubernetes_validate.validate(claim, release, strict=True)
        del claim["spec"]["volumeClaimTemplate"]

    def test_a_pod_with_the_sidecar(self) -> None:
        pods = [
            sidecar_pod(pod)
            for objects in self.renderings.values()
            for each in objects
            if each["kind"] == "ConfigMap" and (pod := pod_of(each)) is not None
        ]
        self.assertEqual(len(pods), 4)
        for release in RELEASES:
            if tuple(map(int, release.split("."))) < FIRST_WITH_SIDECARS:
                continue
            for pod in pods:
                self.check(pod, release, "sidecar")

    def test_objects_of_operators(self) -> None:
        seen = set()
        for objects in self.renderings.values():
            for each in objects:
                if each["kind"] not in OPERATORS:
                    continue
                seen.add(each["kind"])
                version, required, accepted = OPERATORS[each["kind"]]
                self.assertEqual(each["apiVersion"], version)
                self.assertEqual(
                    set(each), {"apiVersion", "kind", "metadata", "spec"}, each
                )
                self.assertLessEqual(required, set(each["spec"]), each)
                self.assertLessEqual(set(each["spec"]), accepted, each)
                for endpoint in (
                    *each["spec"].get("endpoints", ()),
                    *each["spec"].get("podMetricsEndpoints", ()),
                ):
                    fields = {*endpoint, "scrapeTimeout"}
                    self.assertEqual(fields, ENDPOINT_FIELDS)
        self.assertEqual(seen, set(OPERATORS))

    def test_names_and_labels_fit(self) -> None:
        """With the longest name of a release that helm takes, too."""
        long = render(release="a" * 53, flags=["--set", "agent.enabled=true"])
        for objects in (*self.renderings.values(), long):
            for each in objects:
                metadata = each["metadata"]
                self.assertLessEqual(len(metadata["name"]), LONGEST_NAME, metadata)
                for value in metadata["labels"].values():
                    self.assertRegex(value, r"\A[A-Za-z0-9][-_.A-Za-z0-9]{0,62}\Z")
            keys = [(each["kind"], each["metadata"]["name"]) for each in objects]
            self.assertEqual(len(keys), len(set(keys)), "an object is there twice")


if __name__ == "__main__":
    unittest.main()
