"""Files that are read in place."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from evenpack.errors import InvalidArgumentError

# A map can't be empty.
MappedBytes = mmap.mmap | bytes


def map_file(path: Path, accepted: str) -> MappedBytes:
    """A file's bytes; they are read when they are looked at.

    Whoever makes the file shorter meanwhile ends the process that looks beyond its end,
    so corpora are replaced by renaming and not written over.

    Args:
        path: of the file.
        accepted: what it should be, for the message.

    Raises:
        InvalidArgumentError: it can't be opened.
    """
    return map_file_of_time(path, accepted)[0]


def map_file_of_time(path: Path, accepted: str) -> tuple[MappedBytes, int]:
    """As `map_file`, and when that very file was changed last, in ns since 1970."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_size == 0:
                return b"", status.st_mtime_ns
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            return mapped, status.st_mtime_ns
    except OSError as error:
        raise InvalidArgumentError(
            f"{path}: {error.strerror}; accepted: {accepted}"
        ) from error
