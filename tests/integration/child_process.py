"""A process under test: its output is awaited line by line, and it ends with the test.

Nothing waits for a time to pass: every wait is for an event, within DEADLINE.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar

# Seconds that any event may take on a busy machine.
DEADLINE = 30.0

T = TypeVar("T")


def wait_until(condition: Callable[[], T | None], what: str) -> T:
    """The first true value of a condition that is asked again and again."""
    end = time.monotonic() + DEADLINE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {DEADLINE} s")
        time.sleep(0.02)


class ChildProcess:
    """One process; its standard output is read by a thread as it comes."""

    def __init__(
        self, arguments: Sequence[str], variables: Mapping[str, str] | None = None
    ) -> None:
        """Starts it; the first argument is the program. More variables may be given."""
        # Closed by __exit__.
        self._stderr = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115
        self._process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            env={**os.environ, **(variables or {})},
        )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        """Nothing more: it runs already."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kills what still runs."""
        self.kill()
        self._reader.join()
        for file in (self._process.stdin, self._process.stdout, self._stderr):
            assert file is not None
            # A line that it read no more may still be in the pipe's buffer.
            with contextlib.suppress(BrokenPipeError):
                file.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def stderr(self) -> str:
        """What it wrote to standard error so far."""
        self._stderr.seek(0)
        return self._stderr.read()

    def write_line(self, line: str) -> None:
        """A line for its standard input."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise AssertionError(
                f"process {self.pid} has ended; its standard error: {self.stderr()}"
            ) from None

    def next_line(self) -> str | None:
        """The next line of its standard output; None at the end."""
        try:
            line = self._lines.get(timeout=DEADLINE)
        except queue.Empty:
            raise AssertionError(
                f"process {self.pid} wrote no line within {DEADLINE} s; "
                f"its standard error: {self.stderr()}"
            ) from None
        if line is None:
            self._lines.put(None)
        return line

    def lines(self, *, to_the_end: bool) -> Iterator[str]:
        """Those that it has written by now, or all, where it ends."""
        if to_the_end:
            while (line := self.next_line()) is not None:
                yield line
            return
        with contextlib.suppress(queue.Empty):
            while (line := self._lines.get_nowait()) is not None:
                yield line
            self._lines.put(None)

    def signal(self, number: signal.Signals) -> None:
        """Sends it a signal."""
        self._process.send_signal(number)

    def runs(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def wait(self) -> int:
        """Its exit status."""
        return self._process.wait(timeout=DEADLINE)

    def kill(self) -> None:
        """SIGKILL, and its end."""
        self._process.kill()
        self._process.wait()
