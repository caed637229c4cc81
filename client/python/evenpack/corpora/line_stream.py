"""Lines of what is read once from its beginning to its end: a file or a pipe."""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from typing import NamedTuple

from evenpack.corpora.line_index import BLANKS
from evenpack.invalid_argument import invalid_argument, quoted

# Bytes that are read together, where so many are there.
_BLOCK = 1 << 20
_LONGEST = 256 << 20


class Line(NamedTuple):
    """A line without blanks around it.

    Attributes:
        number: counted from 1.
        content: bytes.
        end: bytes of the file up to the next line.
    """

    number: int
    content: bytes
    end: int


class LineStream:
    """Gives lines as soon as they are there, several at a time. One thread.

    Empty lines at the very end count for nothing. Of several empty lines in a row with
    others behind them only the first is given: it is wrong wherever a line holds a
    record.
    """

    def __init__(self, descriptor: int, accepted: str, longest: int = _LONGEST) -> None:
        """Reads nothing yet.

        Args:
            descriptor: of the file; it stays open.
            accepted: what a line should hold, for messages.
            longest: bytes of a line, at most.
        """
        self._descriptor = descriptor
        self._ready = select.poll()
        self._ready.register(descriptor, select.POLLIN)
        self._accepted = accepted
        self._longest = longest
        self._parts: list[bytes] = []  # of a line that has not ended
        self._size = 0  # of these
        self._number = 0
        self._end = 0
        self._empty: Line | None = None

    def blocks(self) -> Iterator[list[Line]]:
        """All lines that could be read without waiting, at least one, again and again.

        Raises:
            InvalidArgumentError: a line is too long, or the file can't be read; lines
                before that come first.
        """
        while data := self._read():
            first, *rest = data.split(b"\n")
            self._add(first)
            found = []
            for part in rest:
                if self._size > self._longest:
                    break
                found += self._take(ended=True)
                self._add(part)
            if found:
                yield found
            if self._size > self._longest:
                raise self._too_long()
        if self._size > 0 and (last := self._take(ended=False)):
            yield last

    def _read(self) -> bytes:
        """What is there, up to a block; waits for the first byte."""
        try:
            # A descriptor that doesn't wait by itself may have been inherited.
            self._ready.poll()
            parts = [os.read(self._descriptor, _BLOCK)]
            size = len(parts[0])
            while parts[-1] and size < _BLOCK and self._ready.poll(0):
                parts.append(os.read(self._descriptor, _BLOCK - size))
                size += len(parts[-1])
        except OSError as error:
            accepted = f"a readable file with {self._accepted} a line"
            raise invalid_argument("file", error.strerror, accepted) from error
        return b"".join(parts)

    def _add(self, part: bytes) -> None:
        self._parts.append(part)
        self._size += len(part)

    def _take(self, *, ended: bool) -> list[Line]:
        """The line whose parts are there; with the empty one that was before it."""
        line = self._line(b"".join(self._parts).strip(BLANKS), ended)
        self._parts, self._size = [], 0
        if not line.content:
            self._empty = self._empty or line
            return []
        if self._empty is None:
            return [line]
        before, self._empty = self._empty, None
        return [before, line]

    def _line(self, content: bytes, ended: bool) -> Line:
        self._number += 1
        self._end += self._size + ended
        return Line(self._number, content, self._end)

    def _too_long(self) -> Exception:
        start = quoted(b"".join(self._parts)[:64])
        accepted = f"{self._accepted} of at most {self._longest} bytes"
        return invalid_argument("line", start, accepted, f"line {self._number + 1}")
