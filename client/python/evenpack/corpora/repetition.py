"""A corpus several times over."""

from __future__ import annotations

from evenpack.corpora.corpus import (
    Numbers,
    RandomAccess,
    RandomAccessCorpus,
    Tokens,
    check_numbers,
    check_random_access,
    document_tokens,
)
from evenpack.corpora.token_place import TokenPlace, token_place_of
from evenpack.document_columns import Columns
from evenpack.invalid_argument import checked_integer, checked_uint32


class Repetition(RandomAccess):
    """The documents of a corpus in its order, and again.

    Thread contract: that of the corpus.
    """

    def __init__(self, corpus: RandomAccessCorpus, epochs: int) -> None:
        """Takes a corpus, and how often each document comes: 1 to 2^32 - 1.

        Raises:
            InvalidArgumentError: `epochs` is outside, or the corpus gives its documents
                in their order alone.
        """
        self._epochs = checked_uint32("epochs", epochs, 1)
        check_random_access(corpus)
        self._corpus = corpus
        self._size = len(corpus)

    def __len__(self) -> int:
        """The corpus's documents times the epochs."""
        return self._size * self._epochs

    def read(self, numbers: Numbers) -> Columns:
        """See `RandomAccessCorpus`."""
        check_numbers(numbers, len(self))
        return self._corpus.read(numbers % max(self._size, 1))

    def tokens(self, document: int, begin: int = 0, end: int | None = None) -> Tokens:
        """See `TokenCorpus`."""
        document = checked_integer("document", document, 0, len(self) - 1)
        return document_tokens(self._corpus, document % self._size, begin, end)

    def token_place(self, document: int) -> TokenPlace:
        """See `TokenFileCorpus`."""
        document = checked_integer("document", document, 0, len(self) - 1)
        return token_place_of(self._corpus, document % self._size)
