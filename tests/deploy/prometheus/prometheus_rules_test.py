"""The rules: what promtool says of them, and that each alert is tested and explained.

The environment's EVENPACK_SOURCE_DIR names the repository.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import unittest
from pathlib import Path

ROOT = Path(os.environ["EVENPACK_SOURCE_DIR"])
RULES = ROOT / "helm/evenpack/files/rules"
CASES = Path(__file__).resolve().parent / "rules"
DASHBOARDS = ROOT / "helm/evenpack/files/dashboards"
# What the runbook quotes of logs; all else that it quotes are panels.
MESSAGES = {
    "can't listen on",
    "commit failed",
    "commits succeed again",
    "database disk image is malformed",
    "frame N of the write-ahead log is damaged",
    "job not recovered",
}
SEVERITIES = {"critical", "warning", "info"}

# An alert, to the next one or the end.
ALERT = re.compile(r"- alert: (\w+)\n(.*?)(?=\n\s+- alert: |\n\s+- name: |\Z)", re.S)
RECORD = re.compile(r"- record: (\S+)")
# What promtool is to find at a time.
CASE = re.compile(r"alertname: (\w+)\n\s+exp_alerts:( \[\])?\n")


def promtool(*arguments: str | Path) -> str:
    """What promtool says; it must be content."""
    ended = subprocess.run(
        ["promtool", *arguments], capture_output=True, text=True, timeout=60
    )
    said = ended.stdout + ended.stderr
    if ended.returncode != 0:
        raise AssertionError(said)
    return said


def alerts() -> dict[str, str]:
    """Each alert's text by its name."""
    return dict(ALERT.findall((RULES / "alerts.yaml").read_text()))


class PromtoolTest(unittest.TestCase):
    def test_the_rules_and_the_configuration_that_loads_them(self) -> None:
        files = sorted(RULES.glob("*.yaml"))
        self.assertEqual(
            [file.name for file in files], ["alerts.yaml", "recording.yaml"]
        )
        promtool("check", "rules", *files)
        config = ROOT / "deploy/prometheus/prometheus.yml"
        self.assertIn("2 rule files found", promtool("check", "config", config))

    def test_alerts_fire_when_they_should_and_only_then(self) -> None:
        for file in sorted(CASES.glob("*.yaml")):
            with self.subTest(file=file.name):
                promtool("test", "rules", file)


class AlertTest(unittest.TestCase):
    def test_each_has_a_case_that_fires_and_one_that_does_not(self) -> None:
        text = "".join(file.read_text() for file in sorted(CASES.glob("*.yaml")))
        silent = {name for name, none in CASE.findall(text) if none}
        firing = {name for name, none in CASE.findall(text) if not none}
        self.assertEqual(firing, set(alerts()))
        self.assertEqual(silent, set(alerts()))

    def test_each_has_a_severity_and_an_entry_in_the_runbook(self) -> None:
        runbook = (ROOT / "docs/runbook.md").read_text()
        entries = re.findall(r"^## (Evenpack\w+)$", runbook, re.MULTILINE)
        self.assertEqual(entries, list(alerts()))
        for name, text in alerts().items():
            with self.subTest(alert=name):
                severity = re.findall(r"severity: (\w+)", text)
                self.assertEqual(len(severity), 1)
                self.assertIn(severity[0], SEVERITIES)
                link = f"runbook_url: docs/runbook.md#{name.lower()}\n"
                self.assertIn(link, text + "\n")
                self.assertRegex(text, r"summary: ")
                self.assertRegex(text, r"description: >-\n")

    def test_panels_that_the_runbook_names_are_there(self) -> None:
        runbook = (ROOT / "docs/runbook.md").read_text().replace("\n", " ")
        titles = {
            panel["title"]
            for file in DASHBOARDS.glob("*.json")
            for panel in json.loads(file.read_text())["panels"]
        }
        quoted = set(re.findall(r'"([^"]+)"', runbook))
        self.assertGreater(len(quoted), 20)
        self.assertEqual(quoted - titles, MESSAGES)

    def test_every_recorded_series_is_used(self) -> None:
        recording = (RULES / "recording.yaml").read_text()
        both = recording + (RULES / "alerts.yaml").read_text()
        for name in RECORD.findall(recording):
            with self.subTest(series=name):
                uses = re.findall(re.escape(name) + r"(?![\w:])", both)
                self.assertGreaterEqual(len(uses), 2)


if __name__ == "__main__":
    unittest.main()
