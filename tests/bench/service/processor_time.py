"""Who takes the machine's processors: seconds of processes and of all, from /proc."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
# Of /proc/PID/stat, counted from behind the name: user, system, and both of children
# that have ended.
_TIMES = slice(11, 15)
# Of /proc/stat's first line: idle, and idle while the disk is awaited.
_IDLE = slice(3, 5)


def _of_process(number: int) -> float:
    try:
        text = Path(f"/proc/{number}/stat").read_text()
    except FileNotFoundError:
        # Its parent counts it from now on.
        return 0.0
    fields = text.rpartition(")")[2].split()
    return sum(map(int, fields[_TIMES])) / _TICKS


def _of_machine() -> float:
    with Path("/proc/stat").open() as file:
        fields = [int(field) for field in file.readline().split()[1:9]]
    return (sum(fields) - sum(fields[_IDLE])) / _TICKS


@dataclass(frozen=True)
class ProcessorTime:
    """Seconds up to now of each group of processes, and of the machine."""

    at: float
    groups: dict[str, float]
    machine: float

    @classmethod
    def now(cls, groups: Mapping[str, Sequence[int]]) -> ProcessorTime:
        """Of processes by their numbers."""
        seconds = {
            name: sum(map(_of_process, numbers)) for name, numbers in groups.items()
        }
        return cls(time.monotonic(), seconds, _of_machine())

    def shares_since(self, before: ProcessorTime) -> dict[str, float]:
        """Processors that each group kept busy, and `machine`: that all did."""
        elapsed = self.at - before.at
        shares = {
            name: (seconds - before.groups[name]) / elapsed
            for name, seconds in self.groups.items()
        }
        return {**shares, "machine": (self.machine - before.machine) / elapsed}
