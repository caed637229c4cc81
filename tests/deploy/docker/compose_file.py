"""The compose files of deploy/docker as Compose reads them, without an engine."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

SOURCE = Path(os.environ["EVENPACK_SOURCE_DIR"])
COMPOSE_FILE = SOURCE / "deploy/docker/compose.yaml"
PROGRAM = SOURCE / "build-test-venv/bin/docker-compose"
# What makes its one server three, on a database.
SERVERS_FILE = SOURCE / "deploy/docker/compose.servers.yaml"
# Others' images; the rest are built here.
NOT_OURS = ("prometheus", "grafana", "database")


def read_compose(*files: Path) -> dict[str, Any]:
    """Checked against the format, with what is named elsewhere in its place.

    The later of several files change the earlier; none: COMPOSE_FILE alone.
    """
    named = [word for file in files or (COMPOSE_FILE,) for word in ("--file", file)]
    done = subprocess.run(
        [PROGRAM, *named, "config", "--format", "json"],
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
