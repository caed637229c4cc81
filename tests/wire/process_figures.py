"""What a process holds: memory, file descriptors, threads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Figures:
    """At a moment."""

    resident_bytes: int
    descriptors: int
    threads: int


def figures_of(pid: int) -> Figures:
    """Of a process that runs."""
    process = Path(f"/proc/{pid}")
    values: dict[str, str] = {}
    for line in (process / "status").read_text().splitlines():
        name, _, value = line.partition(":")
        values[name] = value.split()[0] if value.split() else ""
    return Figures(
        int(values["VmRSS"]) << 10,
        len(list((process / "fd").iterdir())),
        int(values["Threads"]),
    )
