"""A Prometheus of its own for a test, with the repository's configuration and rules."""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from child_process import DEADLINE, ChildProcess, wait_until
from free_ports import free_ports

ROOT = Path(os.environ["EVENPACK_SOURCE_DIR"])

Json = dict[str, Any]


def _configuration(*of_jobs: Sequence[str]) -> str:
    """deploy/prometheus/prometheus.yml with these targets, and every second."""
    text = (ROOT / "deploy/prometheus/prometheus.yml").read_text()
    text, intervals = re.subn(r"_interval: \w+", "_interval: 1s", text)
    targets = [json.dumps(list(each)) for each in of_jobs]
    text, lists = re.subn(r"(?<=- targets: )\[.*\]", lambda _: targets.pop(0), text)
    if (intervals, lists) != (2, len(of_jobs)):
        raise AssertionError(f"{intervals} intervals and {lists} targets in:\n{text}")
    return text


class PrometheusProcess(ChildProcess):
    """Scrapes when it is made. Leaving the context kills it."""

    def __init__(
        self,
        servers: Sequence[str],
        workers: Sequence[str],
        agents: Sequence[str] = (),
    ) -> None:
        """Starts it; the targets are HOST:PORT."""
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        config = folder / "prometheus.yml"
        config.write_text(_configuration(servers, workers, agents))
        (folder / "rules").symlink_to(ROOT / "helm/evenpack/files/rules")
        self.address = f"127.0.0.1:{free_ports(1)[0]}"
        super().__init__(
            [
                "prometheus",
                f"--config.file={config}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address={self.address}",
            ]
        )
        try:
            wait_until(self._is_ready, "Prometheus is ready")
        except AssertionError:
            message = self.stderr()
            self.__exit__(None, None, None)
            raise AssertionError(message) from None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kills it."""
        super().__exit__(kind, error, trace)
        self._folder.cleanup()

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(
                f"http://{self.address}/-/ready", timeout=DEADLINE
            ) as response:
                return bool(response.status == 200)
        except urllib.error.URLError:
            return False

    def get(self, path: str, **parameters: str) -> Any:  # noqa: ANN401
        """The data of an answer of its API."""
        asked = urllib.parse.urlencode(parameters)
        url = f"http://{self.address}/api/v1/{path}?{asked}"
        try:
            with urllib.request.urlopen(url, timeout=DEADLINE) as response:
                return json.load(response)["data"]
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{parameters}: {error.read()!r}") from None

    def values(self, expr: str, after: float = 0) -> list[tuple[dict[str, str], float]]:
        """What the expression is: labels and a finite value of each series.

        It is that of so many seconds after now, with nothing scraped since.
        """
        at = f"{time.time() + after:.3f}"
        found = self.get("query", query=expr, time=at)["result"]
        read = [(each["metric"], float(each["value"][1])) for each in found]
        return [(labels, value) for labels, value in read if math.isfinite(value)]

    def rules(self, kind: str) -> list[Json]:
        """All rules of a kind: recording or alerting."""
        groups = self.get("rules")["groups"]
        return [
            rule for group in groups for rule in group["rules"] if rule["type"] == kind
        ]
