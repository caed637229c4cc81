"""deploy/docker/compose.yaml, as Docker's own Compose reads it, without an engine."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

SOURCE = Path(os.environ["EVENPACK_SOURCE_DIR"])
COMPOSE_FILE = SOURCE / "deploy/docker/compose.yaml"
PROGRAM = SOURCE / "build-test-venv/bin/docker-compose"
# Built here; the others are Prometheus's and Grafana's own.
NOT_OURS = ("prometheus", "grafana")


def read_compose() -> dict[str, Any]:
    """Checked against the format, with what is named elsewhere in its place."""
    done = subprocess.run(
        [PROGRAM, "--file", COMPOSE_FILE, "config", "--format", "json"],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
    )
    if done.returncode != 0 or done.stderr:
        raise AssertionError(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def own_services(compose: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The services whose images are built from this repository."""
    services: dict[str, dict[str, Any]] = compose["services"]
    return {name: each for name, each in services.items() if name not in NOT_OURS}
