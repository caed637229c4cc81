"""Files that are read in place."""

from __future__ import annotations

import mmap
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
    try:
        with path.open("rb") as file:
            if path.stat().st_size == 0:
                return b""
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise InvalidArgumentError(
            f"{path}: {error.strerror}; accepted: {accepted}"
        ) from error
