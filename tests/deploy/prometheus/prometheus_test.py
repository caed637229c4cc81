"""What dashboards and rules say of a real server and workers, by a real Prometheus.

The environment's EVENPACK_SERVER_PROGRAM, EVENPACK_WORKER_PROGRAM,
EVENPACK_ATTENTION_TRAINER and EVENPACK_SIDECAR_TRAINER name the programs,
EVENPACK_SOURCE_DIR the repository.
"""

from __future__ import annotations

import json
import re
import unittest
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from certificates import Certificates
from child_process import wait_until
from dashboard_file import with_values
from observed_run import SLOW_RANK, ObservedRun
from prometheus_process import ROOT, Json, PrometheusProcess
from server_process import ServerProcess

DASHBOARDS = ROOT / "helm/evenpack/files/dashboards"
# What a reader would have chosen beside the job, and Grafana's own variables.
CHOSEN = {"instance": ".*", "__rate_interval": "1m", "__range": "1h"}
# Seconds for which a job decides nothing since it is at its bound of steps ahead.
AT_BOUND = 180
LABEL_VALUES = re.compile(r"label_values\((\w+), (\w+)\)")
# An alert is one of these, or several joined by `and`.
COMPARISON = re.compile(r"(.+) (?:>|<) ([0-9.]+)")
# Those that fire as soon as what they say is so, and nothing of it is.
AT_ONCE = {"EvenpackServerRestarts", "EvenpackDataLoss", "EvenpackWorkerLosesGroup"}


def dashboards() -> dict[str, Json]:
    """All of them by their uid."""
    files = sorted(DASHBOARDS.glob("*.json"))
    return {file.stem: json.loads(file.read_text()) for file in files}


def queries(job: str = "run", *kinds: str) -> Iterator[tuple[str, str]]:
    """Where each expression of a dashboard stands, and the expression as it is sent.

    Those of panels of these kinds, of all where none is given.
    """
    chosen = {**CHOSEN, "job": job}
    for name, dashboard in dashboards().items():
        for panel in dashboard["panels"]:
            if kinds and panel["type"] not in kinds:
                continue
            for target in panel.get("targets", []):
                where = f"{name}: {panel['title']}: {target['legendFormat']}"
                yield where, with_values(target["expr"], chosen)


class PrometheusTest(unittest.TestCase):
    observed: ClassVar[ObservedRun]
    prometheus: ClassVar[PrometheusProcess]

    @classmethod
    def setUpClass(cls) -> None:
        cls.observed = cls.enterClassContext(ObservedRun())
        folder = Path(cls.enterClassContext(TemporaryDirectory()))
        made = Certificates(folder)
        # Of the first no port has a certificate.
        certificate = f"--tls-certificate={made.pem('server')}"
        secured = cls.enterClassContext(
            ServerProcess(certificate, f"--tls-key={made.key('server')}")
        )
        servers = [cls.observed.server.http_address, secured.http_address]
        workers = cls.observed.worker_addresses
        agents = [cls.observed.agent_address]
        cls.prometheus = cls.enterClassContext(
            PrometheusProcess(servers, workers, agents)
        )

    def await_values(self, expr: str, where: str) -> list[tuple[dict[str, str], float]]:
        """What the expression is, once it is anything, while the run goes on."""

        def values() -> list[tuple[dict[str, str], float]]:
            self.observed.go_on()
            return self.prometheus.values(expr)

        return wait_until(values, f"{where}: {expr}")

    def test_every_expression_of_every_dashboard_has_data(self) -> None:
        count = 0
        for where, expr in queries():
            with self.subTest(where=where):
                self.await_values(expr, where)
            count += 1
        self.assertGreater(count, 100)

    def test_single_figures_have_data_minutes_after_the_last_step(self) -> None:
        """`held` decided its only step before the first scrape."""
        running = list(queries("run", "bargauge", "stat"))
        self.assertGreater(len(running), 10)
        for where, expr in [*running, *queries("held", "stat")]:
            with self.subTest(where=where):
                self.await_values(expr, where)
                self.assertTrue(self.prometheus.values(expr, AT_BOUND), expr)

    def test_variables_have_the_values_to_choose_from(self) -> None:
        server = self.observed.server.http_address
        expected = {"job": "run", "instance": server}
        for name, dashboard in dashboards().items():
            for variable in dashboard["templating"]["list"][1:]:
                with self.subTest(dashboard=name, variable=variable["name"]):
                    asked = LABEL_VALUES.fullmatch(variable["query"]["query"])
                    assert asked is not None
                    metric, label = asked.groups()
                    self.await_values(metric, name)
                    path = f"label/{label}/values"
                    values = self.prometheus.get(path, **{"match[]": metric})
                    self.assertIn(expected[variable["name"]], values)

    def test_every_rule_is_evaluated_and_records_data(self) -> None:
        rules = self.prometheus.rules("recording")
        self.assertGreater(len(rules), 15)
        for rule in rules:
            with self.subTest(rule=rule["name"]):
                self.await_values(rule["name"], rule["name"])
        for kind in ("recording", "alerting"):
            for rule in self.prometheus.rules(kind):
                self.assertEqual((rule["health"], rule.get("lastError")), ("ok", None))

    def test_what_every_alert_compares_has_data(self) -> None:
        """Of `A > 1 and B > 2`, A and B: a comparison that is false has no value."""
        rules = self.prometheus.rules("alerting")
        self.assertGreater(len(rules), 15)
        for rule in rules:
            for comparison in rule["query"].split(" and "):
                with self.subTest(alert=rule["name"], comparison=comparison):
                    parts = COMPARISON.fullmatch(comparison)
                    assert parts is not None, comparison
                    self.await_values(parts.group(1), rule["name"])

    def pending(self, alert: str) -> list[dict[str, str]]:
        """Labels of what the alert would fire for, once its time is over."""
        found = self.prometheus.get("alerts")["alerts"]
        labels = [each["labels"] for each in found]
        return [each for each in labels if each["alertname"] == alert]

    def await_pending(self, alert: str, **labels: str) -> None:
        def is_pending() -> bool:
            self.observed.go_on()
            return any(labels.items() <= each.items() for each in self.pending(alert))

        wait_until(is_pending, f"{alert} of {labels}")

    def test_alerts_name_who_is_late_who_waits_and_who_is_held_back(self) -> None:
        rank = f"{SLOW_RANK}"
        self.await_pending("EvenpackWorkerSlow", job="uneven", dp_rank=rank)
        self.await_pending("EvenpackProducerStalled", job="starved", stream="web")
        self.await_pending("EvenpackProducersHeldBack", job="held")
        for alert in AT_ONCE:
            self.assertEqual(self.pending(alert), [])
        for alert in ("EvenpackProducerStalled", "EvenpackProducersHeldBack"):
            self.assertNotIn("run", [each["job"] for each in self.pending(alert)])
        late = self.pending("EvenpackWorkerSlow")
        named = {each["dp_rank"] for each in late if each["job"] == "uneven"}
        self.assertEqual(named, {rank})

    def test_a_job_is_the_training_job_and_its_processes_are_told_apart(self) -> None:
        step = self.await_values("evenpack_job_next_step", "jobs")
        jobs = {labels["job"] for labels, _ in step}
        self.assertEqual(jobs, {"run", "uneven", "held", "starved"})
        self.await_values("count(up == 1) == 5", "all targets are up")
        up = self.await_values("count by (job) (up)", "targets")
        counts = {labels["job"]: count for labels, count in up}
        expected = {"evenpack-server": 2, "evenpack-worker": 2, "evenpack-agent": 1}
        self.assertEqual(counts, expected)


if __name__ == "__main__":
    unittest.main()
