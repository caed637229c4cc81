"""A corpus's documents with the place of their tokens, in portions of one file each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import numpy as np

from evenpack.corpora.token_place import token_place_of
from evenpack.corpora.token_portions import Portion
from evenpack.corpora.until_error import until_error
from evenpack.document_columns import Columns, select
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
    places, error = until_error(
        token_place_of(corpus, number)
        for number in range(first, first + len(columns.lengths))
    )
    begin = 0
    for (path, token_bytes), group in groupby(places, key=lambda place: place[:2]):
        offsets = np.array([place.offset for place in group], dtype=np.uint64)
        end = begin + len(offsets)
        file = TokenFile(path, token_bytes, offsets)
        yield Portion(select(columns, slice(begin, end)), token_file=file)
        begin = end
    if error is not None:
        raise error
