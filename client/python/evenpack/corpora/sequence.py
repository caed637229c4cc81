"""Corpora at hand in Python: columns, sequences, and whatever gives documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenpack.corpora.corpus import (
    CHUNK_DOCUMENTS,
    MAX_LENGTH,
    Numbers,
    RandomAccess,
    Tokens,
    check_numbers,
    checked_piece,
)
from evenpack.corpora.until_error import until_error
from evenpack.document_columns import Columns, column, select
from evenpack.errors import FailedPreconditionError
from evenpack.invalid_argument import (
    as_array,
    check_range,
    checked_integer,
    invalid_argument,
    quoted,
)

Number = TypeVar("Number", np.uint32, np.uint64)


class LengthCorpus(RandomAccess):
    """Documents of which the columns are known. Threads may share one."""

    def __init__(
        self,
        lengths: ArrayLike,
        ids: ArrayLike | None = None,
        loss_tokens: ArrayLike | None = None,
        sources: ArrayLike | None = None,
    ) -> None:
        """Takes columns, each with one entry a document.

        Args:
            lengths: tokens, 1 to 2^31 - 1.
            ids: labels; None: each document's number.
            loss_tokens: tokens that count in the loss; None: all.
            sources: numbers for where documents come from; None: 0.

        Raises:
            InvalidArgumentError: an entry is outside, or a column of another length.
        """
        self._lengths = column("lengths", lengths, np.uint32)
        _check_lengths(self._lengths)
        self._ids = self._column("ids", ids, np.uint64)
        self._loss_tokens = self._column("loss_tokens", loss_tokens, np.uint32)
        self._sources = self._column("sources", sources, np.uint32)
        if self._loss_tokens is not None:
            self._check_loss_tokens(self._loss_tokens)

    def _column(
        self, name: str, given: ArrayLike | None, kind: type[Number]
    ) -> NDArray[Number] | None:
        if given is None:
            return None
        found = column(name, given, kind)
        if len(found) != len(self._lengths):
            accepted = f"{len(self._lengths)}, one for each of lengths"
            raise invalid_argument(name, f"{len(found)} entries", accepted)
        return found

    def _check_loss_tokens(self, loss_tokens: NDArray[np.uint32]) -> None:
        wrong = loss_tokens > self._lengths
        if wrong.any():
            i = int(np.argmax(wrong))
            accepted = f"0 to {self._lengths[i]}, the tokens of the document"
            raise invalid_argument(
                "loss_tokens", loss_tokens[i], accepted, f"document {i}"
            )

    def __len__(self) -> int:
        """Entries of the columns."""
        return len(self._lengths)

    def read(self, numbers: Numbers) -> Columns:
        """See `RandomAccessCorpus`."""
        check_numbers(numbers, len(self))
        every = Columns(self._lengths, self._ids, self._loss_tokens, self._sources)
        return select(every, numbers)


class SequenceCorpus(RandomAccess):
    """Documents as lists or arrays of token ids in memory. Threads may share one."""

    def __init__(self, documents: Sequence[ArrayLike]) -> None:
        """Takes documents; the sequence is not copied, and not to change.

        Args:
            documents: token ids of each, integers [n], n from 1.

        Raises:
            InvalidArgumentError: one is no row of integers, or empty.
        """
        _check_some(documents, "a sequence of rows of token ids")
        self._documents = documents
        lengths = [_tokens_of(tokens, i).size for i, tokens in enumerate(documents)]
        self._lengths = np.array(lengths, dtype=np.uint32)
        _check_lengths(self._lengths)

    def __len__(self) -> int:
        """Documents of the sequence."""
        return len(self._lengths)

    def read(self, numbers: Numbers) -> Columns:
        """See `RandomAccessCorpus`; there are lengths alone."""
        check_numbers(numbers, len(self))
        return Columns(self._lengths[numbers])

    def tokens(self, document: int, begin: int = 0, end: int | None = None) -> Tokens:
        """See `TokenCorpus`."""
        document = checked_integer("document", document, 0, len(self) - 1)
        begin, last = checked_piece(document, begin, end, int(self._lengths[document]))
        return _tokens_of(self._documents[document], document)[begin:last]


class IterableCorpus:
    """Documents of what can be iterated over: lengths, or token ids to be counted.

    It goes on at a document by passing over those before, and doesn't know how many it
    has. One thread at a time.
    """

    def __init__(self, documents: Iterable[int | ArrayLike]) -> None:
        """Takes documents, nothing of which is read yet.

        Args:
            documents: lengths 1 to 2^31 - 1, or token ids. To be resumed it must give
                the same documents in the same order whenever it is iterated over. An
                iterator, which can't begin again, is taken to be at document 0.

        Raises:
            InvalidArgumentError: nothing that can be iterated over.
        """
        _check_some(documents, "what gives lengths or token ids when iterated over")
        self._source = documents
        self._begun = False

    def documents(self, first: int = 0) -> Iterator[Columns]:
        """See `Corpus`.

        Raises:
            FailedPreconditionError: an iterator was asked for its documents twice.
            InvalidArgumentError: besides what `Corpus` has: naming a document that is
                neither a length nor token ids; those before it come first.
        """
        first = checked_integer("first", first)
        items = iter(self._source)
        if items is self._source and self._begun:
            raise FailedPreconditionError(
                "the iterator was read before; one that begins again is needed, as a "
                "list or an object with __iter__ does"
            )
        self._begun = True
        return self._chunks(items, first)

    def _chunks(
        self, items: Iterator[int | ArrayLike], first: int
    ) -> Iterator[Columns]:
        passed = sum(1 for _ in islice(items, first))
        check_range("first", first, 0, passed)
        number = first
        while True:
            lengths, error = until_error(
                _length_of(item, i)
                for i, item in enumerate(islice(items, CHUNK_DOCUMENTS), number)
            )
            if lengths:
                yield Columns(np.array(lengths, dtype=np.uint32))
            if error is not None:
                raise error
            if not lengths:
                return
            number += len(lengths)


def _length_of(item: int | ArrayLike, document: int) -> int:
    if isinstance(item, int | np.integer) and not isinstance(item, bool):
        length = int(item)
    else:
        length = _tokens_of(item, document).size
    check_range("length", length, 1, MAX_LENGTH, f"document {document}")
    return length


def _tokens_of(item: ArrayLike, document: int) -> Tokens:
    place = f"document {document}"
    found = as_array("tokens", item, "one row of integers", place)
    if found.ndim != 1 or (found.size > 0 and found.dtype.kind not in "iu"):
        kind = f"{found.dtype.name} of shape {found.shape}"
        raise invalid_argument("tokens", kind, "one row of integers", place)
    return found


def _check_some(documents: object, accepted: str) -> None:
    if not (hasattr(documents, "__iter__") or hasattr(documents, "__getitem__")):
        raise invalid_argument("documents", quoted(documents), accepted)


def _check_lengths(lengths: NDArray[np.uint32]) -> None:
    wrong = (lengths < 1) | (lengths > MAX_LENGTH)
    if wrong.any():
        i = int(np.argmax(wrong))
        check_range("length", int(lengths[i]), 1, MAX_LENGTH, f"document {i}")
