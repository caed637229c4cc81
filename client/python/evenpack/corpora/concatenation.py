"""Corpora one after another, as the shards of a dataset are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from evenpack.corpora.column_assembly import ColumnAssembly
from evenpack.corpora.corpus import (
    Numbers,
    RandomAccess,
    RandomAccessCorpus,
    Tokens,
    check_numbers,
    checked_corpora,
    document_tokens,
)
from evenpack.corpora.token_place import TokenPlace, token_place_of
from evenpack.document_columns import Columns
from evenpack.invalid_argument import checked_integer, invalid_argument


class Concatenation(RandomAccess):
    """The documents of the first corpus, then those of the next.

    The id of a document is its corpus's, or else its number here. Thread
    contract: that of the corpora.
    """

    def __init__(self, corpora: Sequence[RandomAccessCorpus]) -> None:
        """Takes corpora, in an order that must always be the same.

        Raises:
            InvalidArgumentError: none is given, or one that gives its documents in
                their order alone.
        """
        self._corpora = checked_corpora(corpora, by_number=True)
        if not self._corpora:
            raise invalid_argument("corpora", "none", "at least one")
        sizes = [len(corpus) for corpus in self._corpora]
        # First document of each, then how many there are.
        self._starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])

    def __len__(self) -> int:
        """The documents of all."""
        return int(self._starts[-1])

    def _chunks(self, first: int) -> Iterator[Columns]:
        # Not by read(): some formats are faster in order.
        for corpus, start in zip(
            self._corpora, self._starts[:-1].tolist(), strict=True
        ):
            if first >= start + len(corpus):
                continue
            number = max(first, start)
            for columns in corpus.documents(number - start):
                yield self._with_ids(columns, number)
                number += len(columns.lengths)

    def _with_ids(self, columns: Columns, first: int) -> Columns:
        size = len(columns.lengths)
        numbers = np.arange(first, first + size, dtype=np.int64)
        assembly = ColumnAssembly(numbers, has_ids=True)
        assembly.put(slice(0, size), columns)
        return assembly.columns()

    def read(self, numbers: Numbers) -> Columns:
        """See `RandomAccessCorpus`."""
        check_numbers(numbers, len(self))
        owners = np.searchsorted(self._starts, numbers, side="right") - 1
        assembly = ColumnAssembly(numbers, has_ids=True)
        for owner in np.unique(owners).tolist():
            where = np.flatnonzero(owners == owner)
            inner = numbers[where] - self._starts[owner]
            assembly.put(where, self._corpora[owner].read(inner))
        return assembly.columns()

    def locate(self, document: int) -> tuple[int, int]:
        """(index of the corpus, number within it) of a document.

        Raises:
            InvalidArgumentError: there is no such document.
        """
        document = checked_integer("document", document, 0, len(self) - 1)
        owner = int(np.searchsorted(self._starts, document, side="right")) - 1
        return owner, document - int(self._starts[owner])

    def tokens(self, document: int, begin: int = 0, end: int | None = None) -> Tokens:
        """See `TokenCorpus`."""
        owner, inner = self.locate(document)
        return document_tokens(self._corpora[owner], inner, begin, end)

    def token_place(self, document: int) -> TokenPlace:
        """See `TokenFileCorpus`."""
        owner, inner = self.locate(document)
        return token_place_of(self._corpora[owner], inner)
