"""Runs evenpackctl with a terminal and without streams: progress, what signals leave.

The environment's EVENPACKCTL names the program, EVENPACK_SOURCE_DIR the repository.
"""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import unittest
from pathlib import Path

PROGRAM = os.environ["EVENPACKCTL"]
LENGTHS = str(Path(os.environ["EVENPACK_SOURCE_DIR"], "deploy/data/lengths/wlbllm.txt"))
LONG = [
    PROGRAM, "pack", "--lengths", LENGTHS, "--policy", "wlb", "--micro-batches", "4",
    "--window", "131072", "--max-length", "196608", "--repeat", "1000000",
]  # fmt: skip
END = b"%\x1b[K"
REMOVAL = b"\r\x1b[K"


class Terminal:
    """A pseudo-terminal of some columns, and evenpackctl with its errors there."""

    def __init__(self, columns: int, kind: str, command: list[str]) -> None:
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=theirs,
            env=os.environ | {"TERM": kind},
        )  # fmt: skip
        os.close(theirs)

    def read(self) -> bytes:
        """What is shown next; nothing once the program has ended."""
        try:
            return os.read(self.ours, 65536)
        except OSError:
            return b""

    def line(self) -> bytes:
        """What is shown up to the end of a line of progress."""
        shown = b""
        while not shown.endswith(END) and (more := self.read()):
            shown += more
        return shown

    def rest(self) -> bytes:
        """What is shown until the program ends, which is waited for."""
        shown = b"".join(iter(self.read, b""))
        self.process.wait()
        os.close(self.ours)
        return shown


class TerminalTest(unittest.TestCase):
    def start(self, columns: int, kind: str, command: list[str]) -> Terminal:
        """Ended with the test, whatever came of it."""
        terminal = Terminal(columns, kind, command)
        self.addCleanup(terminal.process.wait)
        self.addCleanup(terminal.process.kill)
        return terminal

    def test_a_signal_that_ends_it_removes_the_line_first(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            terminal = self.start(80, "xterm", LONG)
            shown = terminal.line()
            self.assertRegex(shown, rb"\A\rpacking \[[# ]+\] 0%\x1b\[K")
            terminal.process.send_signal(number)
            shown += terminal.rest()
            self.assertTrue(shown.endswith(END + REMOVAL), shown)
            self.assertEqual(terminal.process.returncode, -number)

    def test_a_line_fits_into_a_narrow_terminal(self) -> None:
        for columns in (40, 20, 12, 4):
            terminal = self.start(columns, "xterm", LONG)
            shown = terminal.line()
            terminal.process.send_signal(signal.SIGINT)
            shown += terminal.rest()
            for line in shown.split(b"\r"):
                text = line.removesuffix(REMOVAL[1:])
                self.assertLess(len(text), columns, shown)
            self.assertIn(b"%", shown)

    def test_a_terminal_that_cannot_go_back_shows_no_progress(self) -> None:
        few = [*LONG[:-1], "40"]
        self.assertEqual(self.start(80, "dumb", few).rest(), b"")


class ClosedStreamTest(unittest.TestCase):
    def test_standard_input_that_is_closed_cannot_be_read(self) -> None:
        command = [*LONG[:3], "-", *LONG[4:]]
        finished = subprocess.run(
            ["sh", "-c", 'exec "$@" <&-', "sh", *command],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.assertEqual((finished.returncode, finished.stdout), (2, ""))
        self.assertIn("--lengths: '-' (Bad file descriptor)", finished.stderr)


if __name__ == "__main__":
    unittest.main()
