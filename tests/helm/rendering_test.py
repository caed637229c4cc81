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


def secrets_of(pod: Object) -> list[Object]:
    """The Secrets that its volumes project."""
    return [
        source["secret"]
        for volume in pod.get("volumes", ())
        for source in volume.get("projected", {"sources": ()})["sources"]
    ]


def security_of(values: str | None, kind: str) -> dict[str, str]:
    """The variables about TLS and tokens of the first container of a kind's pods."""
    pods = [
        pod
        for each in render(values_flags(values))
        if each["kind"] == kind and (pod := pod_of(each)) is not None
    ]
    container = next(containers_of(pods[0]))
    return {
        each["name"]: each["value"]
        for each in container.get("env", ())
        if each["name"].startswith(("EVENPACK_TLS", "EVENPACK_TOKEN"))
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

    def test_labels_that_are_given_twice_are_the_charts_then_the_components(
        self,
    ) -> None:
        """Or an object would have them twice, and pods other ones than select them."""
        own = "app\\.kubernetes\\.io"
        flags = [
            f"--set-string=commonLabels.{own}/component=x,commonLabels.{own}/version=x",
            "--set-string=commonLabels.team=a,commonLabels.cost=b",
            f"--set-string=server.podLabels.team=c,server.podLabels.{own}/name=x",
            "--set-string=server.podAnnotations.checksum/config=x",
        ]
        for each in render(flags):
            self.assertEqual(each["metadata"]["labels"]["team"], "a")
            self.assertNotIn("x", each["metadata"]["labels"].values())
        workload = the(render(flags), "StatefulSet")
        pod = workload["spec"]["template"]["metadata"]
        self.assertEqual((pod["labels"]["team"], pod["labels"]["cost"]), ("c", "b"))
        selected = workload["spec"]["selector"]["matchLabels"]
        self.assertLessEqual(selected.items(), pod["labels"].items())
        self.assertNotEqual(pod["annotations"]["checksum/config"], "x")

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

    def test_only_grpc_is_published_out_of_the_cluster(self) -> None:
        for kind, ports in (
            ("ClusterIP", ["grpc", "http"]),
            ("NodePort", ["grpc"]),
            ("LoadBalancer", ["grpc"]),
        ):
            objects = render(["--set", f"server.service.type={kind}"])
            service = the(objects, "Service", "evenpack")
            named = [port["name"] for port in service["spec"]["ports"]]
            self.assertEqual(named, ports, kind)

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


class SeveralServersTest(unittest.TestCase):
    def server(self, values: str) -> tuple[list[Object], Object]:
        objects = render(values_flags(values))
        return objects, the(objects, "StatefulSet")

    def test_each_is_advertised_by_a_name_that_certificates_have(self) -> None:
        for flags in ([], ["--set=server.advertise="]):
            objects = render([*values_flags("mutual"), *flags])
            pod = pod_of(the(objects, "StatefulSet"))
            assert pod is not None
            arguments = pod["containers"][0]["args"]
            address = arguments[arguments.index("--advertise") + 1]
            host, _, port = address.partition(":")
            self.assertEqual(port, "7654")
            names = the(objects, "Certificate")["spec"]["dnsNames"]
            self.assertIn(host.replace("$(POD_NAME)", "*"), names)
            self.assertIn("evenpack.training.svc", names)

    def test_they_are_updated_and_evicted_one_by_one(self) -> None:
        objects, stateful_set = self.server("secure")
        spec = stateful_set["spec"]
        self.assertEqual(spec["replicas"], 3)
        self.assertEqual(spec["updateStrategy"], {"type": "RollingUpdate"})
        self.assertNotIn("volumeClaimTemplates", spec)
        budget = the(objects, "PodDisruptionBudget")["spec"]
        self.assertEqual(budget["maxUnavailable"], 1)

    def test_they_are_spread_over_nodes(self) -> None:
        def spread(*flags: str) -> list[Object]:
            pod = pod_of(the(render([*values_flags("secure"), *flags]), "StatefulSet"))
            assert pod is not None
            constraints: list[Object] = pod.get("topologySpreadConstraints", [])
            return constraints

        _, stateful_set = self.server("secure")
        servers = {"labelSelector": stateful_set["spec"]["selector"]}
        (node,) = spread()
        self.assertEqual(node["topologyKey"], "kubernetes.io/hostname")
        self.assertEqual(node["whenUnsatisfiable"], "ScheduleAnyway")
        self.assertLessEqual(servers.items(), node.items())
        self.assertEqual(spread("--set=server.replicas=1"), [])
        given = {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
        }
        flag = "--set-json=server.topologySpreadConstraints="
        for none in (given, {**given, "labelSelector": None}):
            self.assertEqual(spread(flag + json.dumps([none])), [{**given, **servers}])
        own = [
            {**given, "labelSelector": selector}
            for selector in ({"matchLabels": {"team": "a"}}, {})
        ]
        self.assertEqual(spread(flag + json.dumps(own)), own)


class SecurityTest(unittest.TestCase):
    def config(self, *flags: str) -> Object:
        config_map = the(render(flags), "ConfigMap", "evenpack")
        config: Object = yaml.safe_load(config_map["data"]["server.yaml"])
        return config

    def test_it_is_insecure_unless_it_has_tls_and_roles(self) -> None:
        tls = "--set=tls.existingSecret=mine"
        certificates = "--set=tls.clientCertificates=require"
        roles = "--set=roles.existingConfigMap=roles"
        for flags, insecure in (
            ((), True),
            ((tls,), True),
            ((tls, certificates), True),
            ((tls, roles), None),
            ((tls, certificates, roles), None),
        ):
            config = self.config(*flags)
            self.assertEqual(config.get("insecure"), insecure, flags)
            self.assertEqual("tls-key" in config, tls in flags)
            self.assertEqual("tls-client-ca" in config, certificates in flags)

    def test_other_roles_start_nothing_anew(self) -> None:
        def pod_template(job: str) -> Object:
            flags = ["--set=tls.existingSecret=mine,roles.grants[0].role=operator"]
            flags += [f"--set=roles.grants[0].jobs={{{job}}}"]
            flags += ["--set=roles.grants[0].subjects={CN=ops}"]
            objects = render(flags)
            roles = the(objects, "ConfigMap", "evenpack-roles")["data"]["roles.yaml"]
            self.assertEqual(
                yaml.safe_load(roles),
                {
                    "grants": [
                        {"role": "operator", "jobs": [job], "subjects": ["CN=ops"]}
                    ]
                },
            )
            template: Object = the(objects, "StatefulSet")["spec"]["template"]
            return template

        self.assertEqual(pod_template("a-*"), pod_template("1e3"))

    def test_secrets_are_mounted_as_folders_which_follow_them(self) -> None:
        for values in MATRIX:
            for each in render(values_flags(values)):
                pod = pod_of(each)
                for container in containers_of(pod) if pod is not None else ():
                    for mount in container["volumeMounts"]:
                        self.assertNotIn("subPath", mount)

    def test_no_key_of_the_server_is_in_a_clients_pod(self) -> None:
        for values in ("secure", "mutual", "monitoring"):
            for each in render(values_flags(values)):
                pod = pod_of(each)
                if pod is None or each["kind"] == "StatefulSet":
                    continue
                for secret in secrets_of(pod):
                    if secret["name"] in ("packer-tls", "evenpack-tls"):
                        keys = [item["key"] for item in secret["items"]]
                        self.assertEqual(keys, ["ca.crt"])

    def test_clients_show_who_they_are(self) -> None:
        mount = "/etc/evenpack-client"
        ca = {"EVENPACK_TLS_CA": f"{mount}/ca.crt"}
        certificate = {
            "EVENPACK_TLS_CERTIFICATE": f"{mount}/tls.crt",
            "EVENPACK_TLS_KEY": f"{mount}/tls.key",
        }
        token = {"EVENPACK_TOKEN_FILE": f"{mount}/token"}
        name = {"EVENPACK_TLS_SERVER_NAME": "packer.example"}
        for values, kind, expected in (
            ("secure", "Pod", ca | token),
            ("secure", "ConfigMap", ca | certificate),
            ("mutual", "DaemonSet", ca | certificate),
            ("monitoring", "DaemonSet", ca),
            # An agent is between, which says itself who it is.
            ("monitoring", "ConfigMap", {}),
            ("workers_secure", "DaemonSet", ca | name | token),
            (None, "Pod", {}),
        ):
            self.assertEqual(security_of(values, kind), expected, (values, kind))

    def test_the_password_is_in_no_object(self) -> None:
        for values in ("secure", "mutual"):
            pod = pod_of(the(render(values_flags(values)), "StatefulSet"))
            assert pod is not None
            found = [
                e for e in pod["containers"][0]["env"] if e["name"] == "PGPASSWORD"
            ]
            self.assertEqual([set(each) for each in found], [{"name", "valueFrom"}])


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

    def test_no_alert_of_a_server_that_is_elsewhere(self) -> None:
        flags = ["--set", "metrics.prometheusRule.enabled=true"]
        elsewhere = ["--set", "server.enabled=false,externalServer=packer:1"]
        here, there = (
            [
                each.get("alert") or each["record"]
                for group in the(render(given), "PrometheusRule")["spec"]["groups"]
                for each in group["rules"]
            ]
            for given in (flags, flags + elsewhere)
        )
        self.assertEqual([each for each in here if each != "EvenpackNoServer"], there)
        self.assertIn("EvenpackNoServer", here)

    def test_a_timeout_is_rendered_where_it_is_given(self) -> None:
        """Prometheus' own is never beyond the interval."""
        monitor = "metrics.serviceMonitor"
        for values, times in (
            ("interval=5s", ("5s", None)),
            ("interval=5s,{}.scrapeTimeout=5000ms", ("5s", "5000ms")),
            ("interval=1h30m,{}.scrapeTimeout=90m", ("1h30m", "90m")),
        ):
            flag = f"--set={monitor}.enabled=true,{monitor}.{values.format(monitor)}"
            (endpoint,) = the(render([flag]), "ServiceMonitor")["spec"]["endpoints"]
            given = (endpoint["interval"], endpoint.get("scrapeTimeout"))
            self.assertEqual(given, times)

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
