"""Corpora on disk as Megatron-Core has them: PREFIX.idx and PREFIX.bin."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenpack.corpora.corpus import (
    Numbers,
    RandomAccess,
    Tokens,
    check_numbers,
    checked_piece,
)
from evenpack.corpora.mapped_file import MappedBytes, map_file
from evenpack.corpora.megatron_index import (
    MegatronIndex,
    blocks,
    index_path,
    read_index,
)
from evenpack.corpora.token_place import TokenPlace
from evenpack.document_columns import Columns
from evenpack.invalid_argument import checked_integer, invalid_argument

# A server takes 2 bytes for an id without a sign, and 4 as they are.
_READ_BY_SERVERS = (np.dtype("<u2"), np.dtype("<i4"))


class IndexedDataset(RandomAccess):
    """The documents of an indexed dataset, each with the tokens of its sequences.

    Documents without a token are left out, as evenpackctl does it: a document's number
    here counts those that have some. Files are mapped into memory, so that many
    processes of a machine share them. The lengths need PREFIX.idx alone; where
    PREFIX.bin is there, it is checked too.

    Threads may share one; it can be pickled and opens its files again.
    """

    def __init__(self, prefix: str | Path) -> None:
        """Opens the dataset and checks the whole index.

        Args:
            prefix: path of the files without .idx and .bin; one with .idx also does.

        Raises:
            InvalidArgumentError: naming file, field, byte, value and what is accepted:
                no such file, or damaged.
        """
        path = index_path(prefix)
        self._bin_path = path.with_suffix(".bin")
        self._index, self._bin = _opened(path, self._bin_path)
        if self._bin is not None:
            _check_pointers(self._index, self._bin_path, len(self._bin))
        self._kept = _with_tokens(self._index.lengths)

    def __reduce__(self) -> tuple[type[IndexedDataset], tuple[str]]:
        """By its path."""
        return type(self), (str(self._index.path),)

    def __len__(self) -> int:
        """Documents that have a token."""
        return len(self._index.lengths if self._kept is None else self._kept)

    @property
    def documents_without_tokens(self) -> int:
        """How many were left out."""
        return len(self._index.lengths) - len(self)

    @property
    def token_type(self) -> np.dtype[np.integer]:
        """Of the tokens as they are stored."""
        return self._index.token_type

    def read(self, numbers: Numbers) -> Columns:
        """See `RandomAccessCorpus`; there are lengths alone."""
        check_numbers(numbers, len(self))
        documents = numbers if self._kept is None else self._kept[numbers]
        return Columns(self._index.lengths[documents].astype(np.uint32, copy=False))

    def tokens(self, document: int, begin: int = 0, end: int | None = None) -> Tokens:
        """See `TokenCorpus`; a view of the file where the tokens are in one place."""
        document = checked_integer("document", document, 0, len(self) - 1)
        number = document if self._kept is None else int(self._kept[document])
        begin, last = checked_piece(
            document, begin, end, int(self._index.lengths[number])
        )
        pieces = []
        first = 0  # of the sequence, within the document
        for sequence in range(*self._index.ends[number : number + 2]):
            size = int(self._index.sizes[sequence])
            low, high = max(begin - first, 0), min(last - first, size)
            if low < high:
                pieces.append(self._stored(sequence, low, high))
            first += size
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate([np.empty(0, dtype=self.token_type), *pieces])

    def token_place(self, document: int) -> TokenPlace:
        """See `TokenFileCorpus`; it needs PREFIX.idx alone.

        Tokens are uint16 or int32. Negative ones, which `Producer.add` refuses where
        they travel, keep their 32 bits.

        Raises:
            InvalidArgumentError: besides what `TokenFileCorpus` has: tokens of another
                type.
        """
        document = checked_integer("document", document, 0, len(self) - 1)
        if self.token_type not in _READ_BY_SERVERS:
            names = " or ".join(kind.name for kind in _READ_BY_SERVERS)
            accepted = f"{names}, which a server reads itself"
            raise invalid_argument(
                "type of a token", self.token_type.name, accepted, str(self._index.path)
            )
        number = document if self._kept is None else int(self._kept[document])
        offset = self._offset(number)
        path = str(self._bin_path.absolute())
        return TokenPlace(path, self.token_type.itemsize, offset)

    def _offset(self, number: int) -> int:
        """Where the tokens of a document of the index begin."""
        begin, end = self._index.ends[number : number + 2].tolist()
        held = np.flatnonzero(self._index.sizes[begin:end]) + begin
        pointers = self._index.pointers[held]
        if len(held) > 1:
            sizes = self._index.sizes[held].astype(np.int64)
            ends = pointers + sizes * self.token_type.itemsize
            apart = pointers[1:] != ends[:-1]
            if apart.any():
                i = int(np.argmax(apart))
                field = f"document {number}: pointer of sequence {held[i + 1]}"
                accepted = f"{ends[i]}, behind its sequence {held[i]}"
                place = str(self._index.path)
                raise invalid_argument(field, int(pointers[i + 1]), accepted, place)
        return int(pointers[0])

    def _stored(self, sequence: int, begin: int, end: int) -> Tokens:
        if self._bin is None:
            raise invalid_argument(
                "file", self._bin_path, "one that is there, to have tokens"
            )
        at = int(self._index.pointers[sequence]) + begin * self.token_type.itemsize
        return np.frombuffer(self._bin, self.token_type, end - begin, at)


def _opened(path: Path, tokens: Path) -> tuple[MegatronIndex, MappedBytes | None]:
    """Both files of one dataset, also where another is put in its place meanwhile.

    `IndexedDatasetWriter` removes the index first.
    """
    while True:
        before = _identity(path)
        index = read_index(path)
        mapped = None
        if tokens.exists():
            mapped = map_file(tokens, "the tokens of the index")
        if before is not None and _identity(path) == before:
            return index, mapped


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        about = path.stat()
    except FileNotFoundError:
        return None
    return about.st_dev, about.st_ino


def _with_tokens(lengths: NDArray[np.uint32]) -> Numbers | None:
    """The documents that have a token; None where all have."""
    if all(lengths[begin:end].all() for begin, end in blocks(len(lengths))):
        return None
    return np.flatnonzero(lengths)


def _check_pointers(index: MegatronIndex, path: Path, size: int) -> None:
    """That every sequence is within the .bin file."""
    for begin, end in blocks(len(index.sizes)):
        room = (
            size - index.sizes[begin:end].astype(np.int64) * index.token_type.itemsize
        )
        beyond = index.pointers[begin:end] > room
        if beyond.any():
            i = int(np.argmax(beyond))
            sequence = begin + i
            tokens = f"{index.sizes[sequence]} tokens of {index.token_type.name}"
            accepted = (
                f"0 to {room[i]}, where {tokens} end within {size} bytes of {path}"
            )
            if room[i] < 0:
                accepted = f"any, in a {path} that has {tokens}; it has {size} bytes"
            field = f"pointer of sequence {sequence}"
            raise invalid_argument(
                field, int(index.pointers[sequence]), accepted, str(index.path)
            )
