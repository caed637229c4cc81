"""Tests of evenpack.corpora.file_portions."""

from __future__ import annotations

import numpy as np
import pytest
from evenpack.corpora import LengthCorpus, TokenPlace
from evenpack.corpora.file_portions import portions_in_files
from evenpack.corpora.token_portions import Portion
from evenpack.document_columns import Columns
from evenpack.errors import InvalidArgumentError

PLACES = [
    TokenPlace("/a.bin", 2, 0),
    TokenPlace("/a.bin", 2, 60),
    TokenPlace("/a.bin", 4, 8),
    TokenPlace("/b.bin", 4, 0),
    TokenPlace("/a.bin", 4, 20),
    TokenPlace("/a.bin", 4, 1 << 40),
]
COLUMNS = Columns(
    np.arange(1, 7, dtype=np.uint32), ids=np.arange(10, 16, dtype=np.uint64)
)


class _Placed:
    """Documents from number 3 on; one of them may have no place."""

    def __init__(self, without: int | None = None) -> None:
        self._without = without

    def token_place(self, document: int) -> TokenPlace:
        """See `TokenFileCorpus`."""
        if document == self._without:
            raise OSError("no place")
        return PLACES[document - 3]


def _row(portion: Portion) -> tuple[list[int], tuple[str, int], list[int]]:
    """Ids, path with bytes of a token, offsets."""
    file, ids = portion.token_file, portion.columns.ids
    assert file is not None
    assert ids is not None
    assert portion.token_ids is None
    offsets = np.asarray(file.offsets)
    assert offsets.dtype == np.uint64
    assert len(portion.columns.lengths) == len(offsets)
    return ids.tolist(), (str(file.path), file.token_bytes), offsets.tolist()


ROWS = [
    ([10, 11], ("/a.bin", 2), [0, 60]),
    ([12], ("/a.bin", 4), [8]),
    ([13], ("/b.bin", 4), [0]),
    ([14, 15], ("/a.bin", 4), [20, 1 << 40]),
]


def test_a_portion_has_documents_of_one_file_and_type_in_a_row() -> None:
    """With what is known of them."""
    assert [_row(p) for p in portions_in_files(_Placed(), 3, COLUMNS)] == ROWS


def test_documents_before_an_error_come_before_it() -> None:
    """And none behind it."""
    portions = portions_in_files(_Placed(without=8), 3, COLUMNS)
    seen = []
    with pytest.raises(OSError, match="no place"):
        for portion in portions:
            seen.append(_row(portion))
    assert seen == [*ROWS[:3], ([14], ("/a.bin", 4), [20])]


def test_a_corpus_without_files_is_refused() -> None:
    """The message names its kind."""
    with pytest.raises(InvalidArgumentError, match="LengthCorpus"):
        next(portions_in_files(LengthCorpus([1] * 6), 0, COLUMNS))
