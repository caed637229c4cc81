"""guard_job.py as a test sees it, and how much work passes between two of its steps."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from child_process import ChildProcess

_PROGRAM = Path(__file__).resolve().parent / "guard_job.py"


class GuardJob(ChildProcess):
    """The process. Each step must come within child_process.DEADLINE."""

    def __init__(self, address: str, authority: Path | None = None) -> None:
        """Starts it, and waits until its ranks are subscribed.

        `authority`: the certificate of that, where the server has TLS and roles.
        """
        more = [] if authority is None else [f"{authority}"]
        super().__init__([sys.executable, "-B", f"{_PROGRAM}", address, *more])
        self.steps = 0
        self._await("ready")

    def _await(self, wanted: str | None = None) -> str:
        line = self.next_line()
        if line is None or wanted not in (None, line):
            raise AssertionError(f"the guard says '{line}'; {self.stderr()}")
        return line

    def step(self) -> None:
        """One more."""
        self.write_line("step")
        self._await(f"{self.steps}")
        self.steps += 1

    def end(self) -> int:
        """Its good end; how many documents were in its steps."""
        self.write_line("end")
        count = int(self._await())
        if self.wait() != 0:
            raise AssertionError(f"the guard ended badly: {self.stderr()}")
        return count


class GuardWatch:
    """Has a guard make steps, without a pause, until its context ends.

    Work is what a counter counts, from one step to the next.
    """

    def __init__(self, guard: GuardJob, work: Callable[[], int]) -> None:
        """Begins."""
        self._guard = guard
        self._work = work
        self._over = threading.Event()
        self.longest = 0
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def __enter__(self) -> Self:
        """The watch, which runs."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Its end; raises what the guard complained of."""
        self._over.set()
        self._thread.join()
        if self.failure is not None and error is None:
            raise self.failure

    def _run(self) -> None:
        try:
            while not self._over.is_set():
                before = self._work()
                self._guard.step()
                self.longest = max(self.longest, self._work() - before)
        except BaseException as error:
            self.failure = error
