"""The documents of a corpus in an order drawn by a seed."""

from __future__ import annotations

import numpy as np

from evenpack.corpora.column_assembly import ColumnAssembly
from evenpack.corpora.corpus import (
    Numbers,
    RandomAccess,
    RandomAccessCorpus,
    Tokens,
    check_numbers,
    check_random_access,
    document_tokens,
)
from evenpack.corpora.permutation import Permutation, checked_seed
from evenpack.corpora.token_place import TokenPlace, token_place_of
from evenpack.document_columns import Columns
from evenpack.invalid_argument import checked_integer

_MOST_EPOCHS = (1 << 32) - 1


class Shuffle(RandomAccess):
    """Every document of a corpus once in each epoch, in another order each time.

    The order depends on the seed, the epoch and the number of documents alone, and
    takes no memory. Threads may share one where they may share the corpus.
    """

    def __init__(self, corpus: RandomAccessCorpus, seed: int, epochs: int = 1) -> None:
        """Takes a corpus.

        Args:
            corpus: what is shuffled.
            seed: 0 to 2^64 - 1.
            epochs: how often each document comes, 1 to 2^32 - 1.

        Raises:
            InvalidArgumentError: one is outside, or the corpus gives its documents in
                their order alone.
        """
        self._epochs = checked_integer("epochs", epochs, 1, _MOST_EPOCHS)
        self._seed = checked_seed(seed)
        check_random_access(corpus)
        self._corpus = corpus
        self._size = len(corpus)

    def __len__(self) -> int:
        """The corpus's documents times the epochs."""
        return self._size * self._epochs

    def document_at(self, number: int) -> int:
        """Which document of the corpus is number `number` here.

        Raises:
            InvalidArgumentError: there is no such number.
        """
        number = checked_integer("document", number, 0, len(self) - 1)
        return int(self._documents_at(np.array([number], dtype=np.int64))[0])

    def numbers_of(self, document: int) -> list[int]:
        """Where a document of the corpus comes, in each epoch.

        Raises:
            InvalidArgumentError: there is no such document.
        """
        document = checked_integer("document", document, 0, self._size - 1)
        wanted = np.array([document], dtype=np.int64)
        return [
            epoch * self._size + int(self._order(epoch).position_of(wanted)[0])
            for epoch in range(self._epochs)
        ]

    def read(self, numbers: Numbers) -> Columns:
        """See `RandomAccessCorpus`."""
        check_numbers(numbers, len(self))
        documents = self._documents_at(numbers)
        # In the corpus's order, in which it reads faster.
        order = np.argsort(documents, kind="stable")
        assembly = ColumnAssembly(numbers)
        assembly.put(order, self._corpus.read(documents[order]))
        return assembly.columns()

    def tokens(self, document: int, begin: int = 0, end: int | None = None) -> Tokens:
        """See `TokenCorpus`."""
        return document_tokens(self._corpus, self.document_at(document), begin, end)

    def token_place(self, document: int) -> TokenPlace:
        """See `TokenFileCorpus`."""
        return token_place_of(self._corpus, self.document_at(document))

    def _order(self, epoch: int) -> Permutation:
        return Permutation(self._size, self._seed, epoch)

    def _documents_at(self, numbers: Numbers) -> Numbers:
        documents = np.empty_like(numbers)
        epochs = numbers // max(self._size, 1)
        for epoch in np.unique(epochs).tolist():
            here = epochs == epoch
            positions = numbers[here] - epoch * self._size
            documents[here] = self._order(epoch).apply(positions)
        return documents
