"""A corpus's documents with the place of their tokens, in portions of one file each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from evenpack.corpora.column_assembly import select
from evenpack.corpora.token_place import TokenPlace, token_place_of
from evenpack.corpora.token_portions import Portion
from evenpack.document_columns import Columns
from evenpack.producer import TokenFile


def portions_in_files(
    corpus: object, first: int, columns: Columns
) -> Iterator[Portion]:
    """The documents with their places; a portion has those of one file in a row.

    Those before an error come before it.

    Args:
        corpus: which `columns` are of.
        first: number of the first document.
        columns: what is known of them.

    Raises:
        InvalidArgumentError: the corpus has no files that a server can read; else as
            it raises them.
    """
    places, error = _places(corpus, first, len(columns.lengths))
    begin = 0
    for (path, token_bytes), group in groupby(places, key=lambda place: place[:2]):
        offsets = np.array([place.offset for place in group], dtype=np.uint64)
        end = begin + len(offsets)
        file = TokenFile(path, token_bytes, offsets)
        yield Portion(select(columns, slice(begin, end)), token_file=file)
        begin = end
    if error is not None:
        raise error


def _places(
    corpus: object, first: int, documents: int
) -> tuple[list[TokenPlace], Exception | None]:
    """The place of each document before the first error, and that."""
    places: list[TokenPlace] = []
    try:
        for number in range(first, first + documents):
            places.append(token_place_of(corpus, number))
    except Exception as error:  # whatever the corpus raises
        return places, error
    return places, None
