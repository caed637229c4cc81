"""What must hold within a rendering, whatever the values."""

from __future__ import annotations

import base64
import gzip
import json
import re
import tempfile
import unittest
from pathlib import Path
from typing import Any

import stand_in_chart
import yaml
from chart import (
    CHART,
    MATRIX,
    ROOT,
    Object,
    containers_of,
    pod_of,
    render,
    run_helm,
    the,
    values_flags,
)

# What Kubernetes takes in an object, and so in a ConfigMap or in helm's Secret of a
# release; and what `kubectl apply` takes, since it keeps the object in an annotation.
MOST_BYTES = 1 << 20
MOST_APPLIED_BYTES = 1 << 18


def stable_labels(each: Object) -> dict[str, str]:
    """An object's labels but for those that change with the chart's version."""
    return {
        name: value
        for name, value in each["metadata"]["labels"].items()
        if name not in ("helm.sh/chart", "app.kubernetes.io/version")
    }


class ChartTest(unittest.TestCase):
    def test_lint(self) -> None:
        for values in MATRIX:
            run_helm("lint", "--strict", str(CHART), *values_flags(values))

    def test_versions_are_the_projects(self) -> None:
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
        cmake = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        version = re.search(r"^project\(evenpack VERSION (\S+)", cmake, re.MULTILINE)
        assert version is not None
        self.assertEqual(chart["appVersion"], version.group(1))
        images = {
            container["image"]
            for each in render(values_flags("monitoring"))
            if (pod := pod_of(each)) is not None
            for container in containers_of(pod)
        }
        self.assertEqual(
            images,
            {
                f"evenpack-{name}:{version.group(1)}"
                for name in ("server", "worker", "client")
            },
        )

    def test_helm_can_keep_the_release(self) -> None:
        """It keeps files and renderings in one Secret: gzip, then twice base64."""
        texts = [path.read_bytes() for path in CHART.rglob("*") if path.is_file()]
        texts.append(json.dumps(render(values_flags("monitoring"))).encode())
        packed = gzip.compress(base64.b64encode(b"".join(texts)), 9)
        self.assertLess(len(base64.b64encode(packed)), MOST_BYTES // 2)


class SelectionTest(unittest.TestCase):
    def selectors(self, objects: list[Object]) -> list[tuple[str, dict[str, str]]]:
        found = []
        for each in objects:
            spec: Any = each.get("spec", {})
            selector = spec.get("podSelector", spec.get("selector"))
            if not selector or each["kind"] == "ServiceMonitor":
                continue
            name = f"{each['kind']} {each['metadata']['name']}"
            labels = selector.get("matchLabels", selector)
            if labels != {"evenpack/worker": "sidecar"}:
                found.append((name, labels))
        return found

    def test_each_selector_selects_the_pods_of_one_workload(self) -> None:
        for values in MATRIX:
            objects = render(values_flags(values))
            workloads = [
                each for each in objects if each["kind"] in ("StatefulSet", "DaemonSet")
            ]
            templates = [each["spec"]["template"] for each in workloads]
            templates += [each for each in objects if each["kind"] == "Pod"]
            pods = [each["metadata"]["labels"] for each in templates]
            for name, labels in self.selectors(objects):
                matches = [pod for pod in pods if labels.items() <= pod.items()]
                self.assertEqual(len(matches), 1, (values, name))

    def test_service_monitors_select_one_service(self) -> None:
        objects = render(values_flags("monitoring"))
        monitor = the(objects, "ServiceMonitor")
        wanted = monitor["spec"]["selector"]["matchLabels"]
        services = [
            each
            for each in objects
            if each["kind"] == "Service"
            and wanted.items() <= each["metadata"]["labels"].items()
        ]
        self.assertEqual(
            [each["metadata"]["name"] for each in services], ["evenpack-headless"]
        )
        ports = {port["name"] for port in services[0]["spec"]["ports"]}
        self.assertLessEqual(
            {each["port"] for each in monitor["spec"]["endpoints"]}, ports
        )

    def test_ports_that_are_named_are_there(self) -> None:
        for values in MATRIX:
            objects = render(values_flags(values))
            for each in objects:
                if each["kind"] != "Service":
                    continue
                (pod,) = [
                    pod_of(workload)
                    for workload in objects
                    if workload["kind"] in ("StatefulSet", "DaemonSet")
                    and each["spec"]["selector"].items()
                    <= workload["spec"]["template"]["metadata"]["labels"].items()
                ]
                assert pod is not None
                named = {port["name"] for port in pod["containers"][0]["ports"]}
                for port in each["spec"]["ports"]:
                    self.assertIn(port["targetPort"], named)

    def test_a_new_version_starts_only_what_it_changes(self) -> None:
        """What the chart's version changes is no label of pods or of volumes."""
        for values in MATRIX:
            for each in render(values_flags(values)):
                text = json.dumps(each.get("spec", {}))
                self.assertNotIn("helm.sh/chart", text)
                self.assertNotIn("app.kubernetes.io/version", text)
                self.assertIn("helm.sh/chart", each["metadata"]["labels"])
                self.assertTrue(stable_labels(each))


class ServerTest(unittest.TestCase):
    def stateful_set(self, *flags: str) -> Object:
        return the(render(flags), "StatefulSet")

    def test_it_is_killed_only_after_its_drain(self) -> None:
        for drain, margin, grace in ((20, 10, 30), (0, 1, 1), (600, 45, 645)):
            flags = (
                *("--set", f"server.drainSeconds={drain}"),
                *("--set", f"server.terminationMarginSeconds={margin}"),
            )
            objects = render(flags)
            pod = pod_of(the(objects, "StatefulSet"))
            assert pod is not None
            self.assertEqual(pod["terminationGracePeriodSeconds"], grace)
            config = yaml.safe_load(
                the(objects, "ConfigMap", "evenpack")["data"]["server.yaml"]
            )
            self.assertEqual(config["drain-seconds"], drain)

    def test_another_configuration_starts_it_anew(self) -> None:
        def checksum(*flags: str) -> str:
            template = self.stateful_set(*flags)["spec"]["template"]
            text: str = template["metadata"]["annotations"]["checksum/config"]
            return text

        self.assertEqual(checksum(), checksum("--set", "agent.enabled=true"))
        self.assertNotEqual(checksum(), checksum("--set", "server.config.max-jobs=7"))

    def test_large_numbers_are_written_out(self) -> None:
        objects = render(values_flags("memory"))
        text = the(objects, "ConfigMap", "packer")["data"]["server.yaml"]
        self.assertIn("max-message-bytes: 67108864\n", text)
        self.assertIn("step-cache-bytes: 1099511627776\n", text)
        self.assertNotIn("log-format", text)

    def test_volumes_by_store(self) -> None:
        def volumes(*flags: str) -> tuple[int, dict[str, Any]]:
            spec = self.stateful_set(*flags)["spec"]
            given = {
                volume["name"]: volume for volume in spec["template"]["spec"]["volumes"]
            }
            mounts = spec["template"]["spec"]["containers"][0]["volumeMounts"]
            claims = spec.get("volumeClaimTemplates", [])
            self.assertEqual(
                {mount["name"] for mount in mounts},
                set(given) | {claim["metadata"]["name"] for claim in claims},
            )
            return len(claims), given

        self.assertEqual(volumes()[0], 1)
        self.assertEqual(volumes("--set", "store.kind=memory")[0], 0)
        claims, given = volumes("--set", "store.sqlite.existingClaim=mine")
        self.assertEqual(claims, 0)
        self.assertEqual(given["store"]["persistentVolumeClaim"]["claimName"], "mine")

    def test_without_a_server(self) -> None:
        kinds = {each["kind"] for each in render(["--set", "server.enabled=false"])}
        self.assertEqual(kinds, {"ServiceAccount"})
        objects = render(values_flags("workers"))
        pod = pod_of(the(objects, "DaemonSet"))
        assert pod is not None
        self.assertIn("packer.infra.svc:7654", pod["containers"][0]["args"])
        self.assertNotIn("StatefulSet", {each["kind"] for each in objects})


class NetworkPolicyTest(unittest.TestCase):
    def sources(self, *flags: str) -> dict[str, Any]:
        """Who may connect to each port; None: everybody."""
        (policy,) = [each for each in render(flags) if each["kind"] == "NetworkPolicy"]
        return {
            port["port"]: rule.get("from")
            for rule in policy["spec"]["ingress"]
            for port in rule["ports"]
        }

    def test_by_default_the_namespace_may_connect(self) -> None:
        namespace: list[Object] = [{"podSelector": {}}]
        self.assertEqual(self.sources(), {"grpc": namespace, "http": namespace})

    def test_no_peer_is_everybody(self) -> None:
        sources = self.sources("--set-json", "networkPolicy.clients=[]")
        self.assertEqual(sources, {"grpc": None, "http": [{"podSelector": {}}]})


class MonitoringTest(unittest.TestCase):
    """Rules and dashboards come out as they went in: the chart's own, and stand-ins."""

    def charts(self) -> list[Path]:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        return [CHART, stand_in_chart.make(Path(folder))]

    def test_rules(self) -> None:
        flags = ["--set", "metrics.prometheusRule.enabled=true"]
        for chart in self.charts():
            rule = the(render(flags, chart), "PrometheusRule")
            groups = [
                group
                for path in sorted((chart / "files" / "rules").glob("*.yaml"))
                for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]
            ]
            self.assertEqual(rule["spec"]["groups"] or [], groups)

    def test_links_to_the_runbook(self) -> None:
        link = json.dumps(render(values_flags("monitoring"), self.charts()[1]))
        url = "https://docs.example/evenpack/docs/runbook.md#standin"
        self.assertIn(url, link)

    def test_dashboards(self) -> None:
        flags = ["--set", "metrics.dashboards.enabled=true"]
        for chart in self.charts():
            found = {
                name: json.loads(text)
                for each in render(flags, chart)
                if each["metadata"]["labels"].get("grafana_dashboard") == "1"
                for name, text in each["data"].items()
                if len(text) < MOST_APPLIED_BYTES
            }
            expected = {
                path.name: json.loads(path.read_text(encoding="utf-8"))
                for path in (chart / "files" / "dashboards").glob("*.json")
            }
            self.assertEqual(found, expected)


if __name__ == "__main__":
    unittest.main()
