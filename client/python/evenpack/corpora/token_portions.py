"""A corpus's documents with their tokens, in portions that bound memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenpack.corpora.corpus import document_tokens
from evenpack.corpora.until_error import until_error
from evenpack.document_columns import Columns, column, select
from evenpack.errors import DataLossError
from evenpack.producer import TokenFile

# Tokens of a portion, unless one document has more.
PORTION_TOKENS = 1 << 20


@dataclass(frozen=True)
class Portion:
    """Documents in a row.

    Attributes:
        columns: what is known of them.
        token_ids: theirs one after another; None where they were not read.
        token_file: where they are; None where that was not asked for.
    """

    columns: Columns
    token_ids: NDArray[np.uint32] | None = None
    token_file: TokenFile | None = None


def portions_with_tokens(
    corpus: object, first: int, columns: Columns
) -> Iterator[Portion]:
    """The documents with their tokens, at most `PORTION_TOKENS` or one at a time.

    Those before an error come before it.

    Args:
        corpus: which `columns` are of.
        first: number of the first document.
        columns: what is known of them.

    Raises:
        InvalidArgumentError: the corpus has no tokens, or one that is not 0 to
            2^32 - 1; else as it raises them.
        DataLossError: it gave another number of tokens than a document has.
    """
    begin = 0
    for end in _ends(columns.lengths):
        part = select(columns, slice(begin, end))
        token_ids, error = until_error(
            _tokens_of(corpus, number, length)
            for number, length in enumerate(part.lengths.tolist(), first + begin)
        )
        if token_ids:
            read = select(part, slice(0, len(token_ids)))
            yield Portion(read, np.concatenate(token_ids))
        if error is not None:
            raise error
        begin = end


def _ends(lengths: NDArray[np.uint32]) -> Iterator[int]:
    """Behind which documents a portion ends."""
    tokens = 0
    for i, length in enumerate(lengths.tolist()):
        if i > 0 and tokens + length > PORTION_TOKENS:
            yield i
            tokens = 0
        tokens += length
    yield len(lengths)


def _tokens_of(corpus: object, number: int, length: int) -> NDArray[np.uint32]:
    tokens = document_tokens(corpus, number)
    found = column(f"document {number}: token_ids", tokens, np.uint32)
    if len(found) != length:
        raise DataLossError(
            f"document {number}: the corpus gave {len(found)} tokens; it has {length}"
        )
    return found
