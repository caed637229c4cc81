"""The chart with small rules and dashboards in place of its own, which change often."""

from __future__ import annotations

import shutil
from pathlib import Path

from chart import CHART

# Templates of Prometheus and Grafana, that must not be taken for helm's.
RULES = """\
groups:
  - name: stand-in
    interval: 30s
    rules:
      - record: job:stand_in:rate5m
        expr: |
          rate(stand_in_total[5m])
            / 2
      - alert: StandIn
        expr: job:stand_in:rate5m > 0.5
        for: 10m
        labels: {severity: warning}
        annotations:
          summary: "{{ $labels.job }} is at {{ $value | humanize }}"
          runbook_url: docs/runbook.md#standin
"""
DASHBOARD = """\
{
  "title": "Stand-in",
  "panels": [{"targets": [{"legendFormat": "{{job}}", "expr": "up{job=\\"$job\\"}"}]}]
}
"""


def make(folder: Path) -> Path:
    """A copy of the chart, in a folder that exists."""
    copy = folder / "evenpack"
    shutil.copytree(CHART, copy)
    for kind, name, text in (
        ("rules", "stand_in.yaml", RULES),
        ("dashboards", "stand_in.json", DASHBOARD),
    ):
        files = copy / "files" / kind
        shutil.rmtree(files, ignore_errors=True)
        files.mkdir()
        (files / name).write_text(text, encoding="utf-8")
    return copy
