"""Writes helm/evenpack/files/dashboards/*.json, or a folder that is named.

    python3 deploy/grafana/make_dashboards.py [FOLDER]

A test compares what is checked in with what this writes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import dashboard_run_overview
import dashboard_service_health
import dashboard_step_time
import dashboard_store
import dashboard_workers
from panel_json import dashboard_json

DASHBOARDS = (
    dashboard_run_overview.DASHBOARD,
    dashboard_step_time.DASHBOARD,
    dashboard_workers.DASHBOARD,
    dashboard_service_health.DASHBOARD,
    dashboard_store.DASHBOARD,
)
FOLDER = Path(__file__).resolve().parents[2] / "helm/evenpack/files/dashboards"


def main() -> None:
    """Writes each to a file of its uid's name."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    for dashboard in DASHBOARDS:
        text = json.dumps(dashboard_json(dashboard), indent=1, sort_keys=True)
        (folder / f"{dashboard.uid}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
