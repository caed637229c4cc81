"""Processes that are killed, stopped or told to end, and started again when they end.

As a kubelet does it: whatever a member ends with, it is started anew a moment later.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from child_process import ChildProcess

# Seconds until one that has ended is started again.
BACK_OFF = 0.05
# Seconds that one may take to end which is told to, on a busy machine.
MOST_TO_END = 20.0
KILL_AT = "EVENPACK_KILL_AT"


@dataclass(frozen=True)
class Figures:
    """What a process has of the system."""

    descriptors: int
    # Shared memory that is open, or mapped.
    arenas: int
    threads: int
    resident_bytes: int


def figures_of(pid: int) -> Figures:
    """Those of a process that lives."""
    folder = Path(f"/proc/{pid}")
    links = []
    for entry in (folder / "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            links.append(str(entry.readlink()))
    arena = "memfd:evenpack-arena"
    maps = (folder / "maps").read_text()
    status = dict(
        line.split(":", 1) for line in (folder / "status").read_text().splitlines()
    )
    return Figures(
        len(links),
        sum(arena in link for link in links) + maps.count(arena),
        int(status["Threads"]),
        int(status["VmRSS"].split()[0]) << 10,
    )


def stacks_of(pid: int) -> str:
    """Those of all its threads, where there is a gdb."""
    command = ["gdb", "-p", f"{pid}", "-batch", "-ex", "thread apply all bt 12"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=60
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


class Supervised:
    """One member. Nothing runs before the first look()."""

    def __init__(self, name: str, graceful: int) -> None:
        """`graceful`: its exit status after SIGTERM."""
        self.name = name
        self.process: ChildProcess | None = None
        self.starts = 0
        # Of incarnations that have ended.
        self.log: list[str] = []
        # Whom nobody is to disturb.
        self.spared = False
        self.finished = False
        self._graceful = graceful
        self._starts_at = 0.0
        self._goes_on_at: float | None = None
        self._ends_by: float | None = None
        # What it may end with.
        self._statuses: set[int] = set()
        # For the next start alone.
        self.kill_at: str | None = None

    def command(self) -> list[str]:
        """That of the next incarnation."""
        raise NotImplementedError

    def took(self, line: str) -> None:
        """A line of its standard output."""

    def explains(self, status: int, stderr: str) -> bool:
        """Whether it may end with this status, to which nobody has brought it."""
        del status, stderr
        return False

    def close(self) -> None:
        """Kills it for good."""
        if self.process is not None:
            self.process.__exit__(None, None, None)
            self.process = None

    @property
    def runs(self) -> bool:
        """Whether it is there, and goes on."""
        return self.process is not None and self._goes_on_at is None

    @property
    def is_stopped(self) -> bool:
        """Whether it is there, and does nothing."""
        return self._goes_on_at is not None

    def end(self, number: signal.Signals) -> None:
        """Sends it a signal that ends it."""
        assert self.process is not None
        self._statuses.add(-int(number))
        if number == signal.SIGTERM:
            self._statuses.add(self._graceful)
            self._ends_by = time.monotonic() + MOST_TO_END
        self.process.signal(number)

    def stop_for(self, seconds: float) -> None:
        """SIGSTOP, and SIGCONT after a time."""
        assert self.process is not None
        self.process.signal(signal.SIGSTOP)
        self._goes_on_at = time.monotonic() + seconds
        if self._ends_by is not None:
            self._ends_by += seconds

    def may_start(self) -> bool:
        """Whether it may be started now."""
        return True

    def look(self) -> bool:
        """Takes what it has said, starts it where it has ended; whether it began."""
        now = time.monotonic()
        if self.process is None:
            if self.finished or now < self._starts_at or not self.may_start():
                return False
            self._start()
            return True
        if self._goes_on_at is not None and now >= self._goes_on_at:
            self.process.signal(signal.SIGCONT)
            self._goes_on_at = None
        # Before its lines: those that it wrote last are read by then.
        has_ended = not self.process.runs()
        for line in self.process.lines(to_the_end=has_ended):
            self.took(line)
        if has_ended:
            self._ended()
        elif self._ends_by is not None and now > self._ends_by and self.runs:
            raise AssertionError(f"{self.name} was told to end, and goes on")
        return False

    def _start(self) -> None:
        variables: Mapping[str, str] = {}
        self._statuses = set()
        self._ends_by = None
        if self.kill_at is not None:
            variables = {KILL_AT: self.kill_at}
            self._statuses.add(-signal.SIGKILL)
        self.kill_at = None
        self.starts += 1
        self.process = ChildProcess(self.command(), variables)

    def _ended(self) -> None:
        assert self.process is not None
        status, stderr = self.process.wait(), self.process.stderr()
        self.log.append(f"incarnation {self.starts}: status {status}\n{stderr}")
        self.close()
        self._goes_on_at = None
        self._starts_at = time.monotonic() + BACK_OFF
        if status not in self._statuses and not self.explains(status, stderr):
            raise AssertionError(f"{self.name} ended with status {status}: {stderr}")
