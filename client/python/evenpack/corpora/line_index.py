"""Lines of a file by their number."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenpack.corpora.mapped_file import MappedBytes, map_file_of_time

# Bytes that are looked through at a time for the ends of lines.
_BLOCK = 16 << 20
_LINE_END = 10
# What may stand around a line: the white space of JSON.
BLANKS = b" \t\r\n"


class LineIndex:
    """Where each line of a file begins: 8 bytes a line, from one pass over the file.

    Empty lines at the very end count for nothing. Threads may share one.
    """

    def __init__(self, path: Path, accepted: str, saved: Path | None = None) -> None:
        """Looks through the file, or reads what was found before.

        Args:
            path: of the file; what is added to it later is not seen.
            accepted: what the file should be, for messages.
            saved: a file that keeps what was found. It is made where it is missing or
                belongs to the file as it was at another time, or can't be read.

        Raises:
            InvalidArgumentError: the file can't be opened.
        """
        self.path = path
        self._content, changed = map_file_of_time(path, accepted)
        stamp = np.array([len(self._content), changed], dtype=np.int64)
        found = None if saved is None else _load(saved, stamp)
        if found is None:
            found = np.concatenate([stamp, _starts(self._content)])
            if saved is not None:
                _save(saved, found)
        self._starts = found[2:]

    def __len__(self) -> int:
        """Lines."""
        return len(self._starts) - 1

    def line(self, number: int) -> bytes:
        """Line `number`, 0 to len - 1, without blanks around it."""
        begin, end = self._starts[number : number + 2]
        return bytes(self._content[int(begin) : int(end)]).strip(BLANKS)

    def end_of_block(self, first: int, most_bytes: int) -> int:
        """The line behind those from `first` on that have `most_bytes`, or the next."""
        limit = int(self._starts[first]) + most_bytes
        end = int(np.searchsorted(self._starts, limit, side="right")) - 1
        return min(max(end, first + 1), len(self))


def _starts(content: MappedBytes) -> NDArray[np.int64]:
    """Where lines begin, then where the last one ends."""
    parts = [np.zeros(1, dtype=np.int64)]
    for begin in range(0, len(content), _BLOCK):
        size = min(_BLOCK, len(content) - begin)
        block = np.frombuffer(content, np.uint8, size, begin)
        parts.append(np.flatnonzero(block == _LINE_END) + (begin + 1))
    starts = np.concatenate(parts)
    if starts[-1] != len(content):
        starts = np.append(starts, len(content))
    last = len(starts) - 1
    while last > 0:
        if content[int(starts[last - 1]) : int(starts[last])].strip(BLANKS):
            break
        last -= 1
    return starts[: last + 1]


def _load(saved: Path, stamp: NDArray[np.int64]) -> NDArray[np.int64] | None:
    try:
        found = np.load(saved, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    if found.dtype != np.int64 or found.ndim != 1 or len(found) < len(stamp) + 1:
        return None
    return found if (found[: len(stamp)] == stamp).all() else None


def _save(saved: Path, found: NDArray[np.int64]) -> None:
    """Under a name of this process first: others may do the same."""
    partial = saved.with_name(f"{saved.name}.{os.getpid()}.partial")
    with partial.open("wb") as file:
        np.save(file, found, allow_pickle=False)
    partial.replace(saved)
