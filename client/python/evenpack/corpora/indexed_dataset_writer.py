"""Writes the files of an indexed dataset as Megatron-Core reads them."""

from __future__ import annotations

import fcntl
import os
from array import array
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from evenpack.corpora.corpus import MAX_LENGTH
from evenpack.corpora.megatron_index import (
    HEADER,
    MAGIC,
    TOKEN_TYPES,
    VERSION,
    index_path,
)
from evenpack.errors import FailedPreconditionError
from evenpack.invalid_argument import as_array, check_range, invalid_argument, quoted

# Megatron-Core takes 16 bits for vocabularies below this.
_VOCABULARY_OF_16_BITS = 65_500


def token_type_for(vocabulary: int) -> np.dtype[np.integer]:
    """The type that Megatron-Core stores tokens of a vocabulary of this size in."""
    return np.dtype("<u2" if vocabulary < _VOCABULARY_OF_16_BITS else "<i4")


def _code_of(token_type: DTypeLike) -> int:
    """The number that the format has for a type of tokens."""
    names = ", ".join(known.name for known in TOKEN_TYPES.values())
    try:
        wanted = np.dtype(token_type).newbyteorder("<")
    except TypeError as error:
        raise invalid_argument("token_type", quoted(token_type), names) from error
    for code, known in TOKEN_TYPES.items():
        if known == wanted:
            return code
    raise invalid_argument("token_type", wanted.name, names)


class IndexedDatasetWriter:
    """Documents of one sequence each, into PREFIX.bin and PREFIX.idx.

    Both appear when all is written, the index last; until then the names end in
    `.partial`, and nobody else can write the same. As a context manager it closes at
    the end, and after an error it removes what it wrote. One thread at a time.
    """

    def __init__(self, prefix: str | Path, token_type: DTypeLike) -> None:
        """Begins the files; those of the name are replaced when this one is closed.

        Args:
            prefix: path of the files without .idx and .bin.
            token_type: uint8, int8, int16, int32, int64 or uint16.

        Raises:
            InvalidArgumentError: another type, the folder can't be written, or another
                writer, perhaps of another process, has the prefix.
        """
        self._code = _code_of(token_type)
        self._type = TOKEN_TYPES[self._code]
        self._index_path = index_path(prefix)
        self._bin_path = self._index_path.with_suffix(".bin")
        self._sizes = array("i")
        try:
            self._bin = _open_alone(_partial(self._bin_path))
        except OSError as error:
            accepted = "a prefix in a folder that can be written"
            raise invalid_argument(
                "prefix", f"{prefix} ({error.strerror})", accepted
            ) from error
        if self._bin is None:
            accepted = "one that nobody else writes now"
            raise invalid_argument("prefix", prefix, accepted)

    def __enter__(self) -> IndexedDatasetWriter:
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes; after an error discards."""
        if kind is None:
            self.close()
        else:
            self.discard()

    def add(self, tokens: ArrayLike) -> None:
        """Adds a document.

        Args:
            tokens: integers [n] of the type's range, 0 to 2^31 - 1 of them.

        Raises:
            InvalidArgumentError: others; nothing is added.
            FailedPreconditionError: it was closed.
            OSError: as of a full disk; what was written is removed.
        """
        if self._bin is None:
            raise FailedPreconditionError("the writer is closed")
        place = f"document {len(self._sizes)}"
        given = as_array("tokens", tokens, "one row of integers", place)
        check_range("tokens", given.size, 0, MAX_LENGTH, place)
        if given.size > 0:
            self._check(given, place)
        try:
            self._bin.write(given.astype(self._type, casting="unsafe").tobytes())
            self._sizes.append(given.size)
        except BaseException:
            # Perhaps after a part of it, which no index would skip.
            self.discard()
            raise

    def _check(self, tokens: np.ndarray, place: str) -> None:
        if tokens.ndim != 1 or tokens.dtype.kind not in "iu":
            kind = f"{tokens.dtype.name} of shape {tokens.shape}"
            raise invalid_argument("tokens", kind, "one row of integers", place)
        limits = np.iinfo(self._type)
        for token in (int(tokens.min()), int(tokens.max())):
            check_range("token", token, int(limits.min), int(limits.max), place)

    def close(self) -> None:
        """Writes the index and puts both files in place; again changes nothing.

        After an error, as of a full disk, what was written is removed.
        """
        if self._bin is None:
            return
        try:
            self._bin.flush()
            with _partial(self._index_path).open("wb") as file:
                self._write_index(file)
            # Never an index that belongs to other tokens.
            self._index_path.unlink(missing_ok=True)
            _partial(self._bin_path).replace(self._bin_path)
            _partial(self._index_path).replace(self._index_path)
        except BaseException:
            self.discard()
            raise
        # Until here nobody else writes.
        self._bin.close()
        self._bin = None

    def discard(self) -> None:
        """Removes what was written, where it was not closed."""
        if self._bin is None:
            return
        for path in (self._bin_path, self._index_path):
            _partial(path).unlink(missing_ok=True)
        with suppress(OSError):  # of what could not be written before either
            self._bin.close()
        self._bin = None

    def _write_index(self, file: BinaryIO) -> None:
        sizes = np.array(self._sizes, dtype="<i4")
        documents = len(sizes)
        file.write(HEADER.pack(MAGIC, VERSION, self._code, documents, documents + 1))
        file.write(sizes.tobytes())
        ends = np.cumsum(sizes, dtype="<i8") * self._type.itemsize
        file.write(np.concatenate([np.zeros(1, "<i8"), ends])[:documents].tobytes())
        file.write(np.arange(documents + 1, dtype="<i8").tobytes())


def _open_alone(path: Path) -> BinaryIO | None:
    """An empty file that nobody else has opened so; None where somebody has."""
    while True:
        file = path.open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return None
        except OSError:
            pass  # a file system without locks
        # Whoever had it may have put it in its place meanwhile, or removed it.
        if _is_at(path, file):
            file.truncate(0)
            return file
        file.close()


def _is_at(path: Path, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _partial(path: Path) -> Path:
    return path.with_name(f"{path.name}.partial")
