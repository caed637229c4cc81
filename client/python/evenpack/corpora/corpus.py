"""What a corpus is: documents by number and, where the format has them, their tokens.

Documents are numbered from 0, without gaps, in an order that never changes: document i
of a corpus becomes the one with sequence number i of a stream (`evenpack.ingest`), and
the trainer finds its tokens by that number (`evenpack.corpora.gather`). So a corpus
that is opened again, on any machine, must have the same documents in the same order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenpack.document_columns import Columns
from evenpack.invalid_argument import checked_integer, invalid_argument

# Numbers of documents, from 0.
Numbers = NDArray[np.int64]
# Token ids, of the type in which they are stored.
Tokens = NDArray[np.integer[Any]]

_BY_NUMBER = "one that gives any document by its number"

AnyCorpus = TypeVar("AnyCorpus")

# Of a chunk, at most; what is known of one document takes at most 20 bytes.
CHUNK_DOCUMENTS = 8192
# Tokens of a document, at most.
MAX_LENGTH = (1 << 31) - 1


@runtime_checkable
class Corpus(Protocol):
    """Documents in an order that never changes. One thread at a time.

    One that knows how many it has also has `__len__`, one whose mixture changes on the
    way `barriers` (see `HasBarriers`), one that may end before what it is made of
    `left_over` (see `LeavesDocuments`).
    """

    def documents(self, first: int = 0) -> Iterator[Columns]:
        """What is known of the documents from number `first` on, in chunks.

        Lengths are 1 to 2^31 - 1. Either all chunks have ids, or none has. A chunk has
        at least one document.

        Raises:
            InvalidArgumentError: `first` is beyond the end, at once or with the first
                chunk; the corpus is damaged, when its documents' turn has come.
        """
        ...


@runtime_checkable
class RandomAccessCorpus(Corpus, Protocol):
    """A corpus that gives any document as cheaply as the next one."""

    def __len__(self) -> int:
        """How many documents it has."""
        ...

    def read(self, numbers: Numbers) -> Columns:
        """What is known of these documents, in the order of `numbers`.

        Args:
            numbers: int64 [n], each 0 to len - 1, in any order.

        Raises:
            InvalidArgumentError: one is outside, or damaged.
        """
        ...


@runtime_checkable
class TokenCorpus(Protocol):
    """What gives the tokens of a document by its number."""

    def tokens(self, document: int, begin: int = 0, end: int | None = None) -> Tokens:
        """Tokens `begin` to `end` - 1 of a document; to its last where `end` is None.

        Returns:
            Integers [end - begin], perhaps a read-only view of a mapped file.

        Raises:
            InvalidArgumentError: no such document, or tokens beyond its end; the corpus
                has lengths alone.
        """
        ...


@runtime_checkable
class HasBarriers(Protocol):
    """A corpus whose mixture changes."""

    @property
    def barriers(self) -> tuple[int, ...]:
        """Rising document numbers: all before one are accepted before it is sent."""
        ...


@runtime_checkable
class LeavesDocuments(Protocol):
    """A corpus of several that may end before all of them have."""

    def left_over(self, documents: int) -> dict[str, int]:
        """What is not among the first `documents` of this corpus, where it ends there.

        Returns:
            How many documents are left, 1 or more, by the corpus that has them, such as
            "corpora[1] (Shuffle)". Those left out on purpose are not there, nor one
            that doesn't know how many it has.
        """
        ...


class RandomAccess(ABC):
    """A corpus by its `__len__` and `read`."""

    @abstractmethod
    def __len__(self) -> int:
        """How many documents it has."""

    @abstractmethod
    def read(self, numbers: Numbers) -> Columns:
        """See `RandomAccessCorpus`."""

    def documents(self, first: int = 0) -> Iterator[Columns]:
        """See `Corpus`."""
        first = checked_integer("first", first, 0, len(self))
        return self._chunks(first)

    def _chunks(self, first: int) -> Iterator[Columns]:
        for begin in range(first, len(self), CHUNK_DOCUMENTS):
            end = min(begin + CHUNK_DOCUMENTS, len(self))
            yield from read_until_error(
                lambda begin, end: self.read(np.arange(begin, end, dtype=np.int64)),
                begin,
                end,
            )


def read_until_error(
    read: Callable[[int, int], Columns], begin: int, end: int
) -> Iterator[Columns]:
    """Documents `begin` to `end` - 1, or those before the first that can't be read.

    Args:
        read: what is known of the documents between two numbers, in one go.
        begin: the first document.
        end: the one behind the last.

    Raises:
        Exception: what `read` raises of the first that it refuses.
    """
    refused: Exception | None = None
    # It is asked for all, and where that fails for half of what is in question.
    ask = end
    while begin < end:
        try:
            columns = read(begin, ask)
        except Exception as error:
            refused, end = error, ask - 1
        else:
            yield columns
            begin = ask
        ask = max((begin + end + 1) // 2, begin + 1)
    if refused is not None:
        raise refused


def check_random_access(corpus: object) -> None:
    """Refuses a corpus that gives documents in their order alone.

    Raises:
        InvalidArgumentError: naming its type.
    """
    if not isinstance(corpus, RandomAccessCorpus):
        raise invalid_argument("corpus", type(corpus).__name__, _BY_NUMBER)


def checked_corpora(
    corpora: Iterable[AnyCorpus], *, by_number: bool = False
) -> list[AnyCorpus]:
    """Several corpora, or such as give any document by its number.

    Raises:
        InvalidArgumentError: naming the type of what is none, and which it is.
    """
    if not isinstance(corpora, Iterable):
        shown = type(corpora).__name__
        raise invalid_argument("corpora", shown, "a list of corpora")
    found = list(corpora)
    accepted = _BY_NUMBER if by_number else "a corpus"
    for i, corpus in enumerate(found):
        if not isinstance(corpus, RandomAccessCorpus if by_number else Corpus):
            raise invalid_argument(f"corpora[{i}]", type(corpus).__name__, accepted)
    return found


def check_numbers(numbers: Numbers, documents: int) -> None:
    """Refuses numbers that no document has.

    Raises:
        InvalidArgumentError: naming the first of them.
    """
    outside = (numbers < 0) | (numbers >= documents)
    if outside.any():
        number = int(numbers[int(np.argmax(outside))])
        raise invalid_argument("document", number, f"0 to {documents - 1}")


def checked_piece(
    document: int, begin: int, end: int | None, length: int
) -> tuple[int, int]:
    """Begin and end of a piece of a document of `length` tokens, its end where None.

    Raises:
        InvalidArgumentError: it is no piece of the document.
    """
    place = f"document {document}"
    last = checked_integer("end", length if end is None else end, 0, length, place)
    return checked_integer("begin", begin, 0, last, place), last


def documents_of(corpus: object) -> int | None:
    """How many documents a corpus has; None where it doesn't know."""
    try:
        return len(corpus)  # type: ignore[arg-type]
    except TypeError:
        return None


def document_tokens(
    corpus: object, document: int, begin: int = 0, end: int | None = None
) -> Tokens:
    """`corpus.tokens(document, begin, end)`.

    Raises:
        InvalidArgumentError: as that does; the corpus has no tokens.
    """
    if not isinstance(corpus, TokenCorpus):
        kind = type(corpus).__name__
        raise invalid_argument("corpus", kind, "one that has tokens, not lengths alone")
    return corpus.tokens(document, begin, end)
