"""Tests of evenpack.document_columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evenpack.document_columns import (
    Columns,
    Documents,
    StreamSource,
    column,
    documents_from,
    in_parts,
    select,
)
from evenpack.errors import InvalidArgumentError
from numpy.typing import ArrayLike

LENGTHS = [5, 1, 7, 3, 9]


def _all(source: StreamSource, first: int, size: int) -> list[list[int]]:
    return [part.lengths.tolist() for part in documents_from(source, first, size)]


@pytest.mark.parametrize(
    "source",
    [
        LENGTHS,
        tuple(LENGTHS),
        np.array(LENGTHS, dtype=np.int64),
        Documents(LENGTHS),
        range(1, 6),
    ],
)
@pytest.mark.parametrize("first", range(6))
def test_each_document_from_the_first_asked_for_comes_once(
    source: StreamSource, first: int
) -> None:
    """In order, at most so many at a time."""
    lengths: Any = source.lengths if isinstance(source, Documents) else source
    expected = list(lengths)[first:]
    parts = _all(source, first, 2)
    assert [length for part in parts for length in part] == expected
    assert all(0 < len(part) <= 2 for part in parts)


class _Corpus:
    """In chunks of three."""

    def documents(self, first: int = 0) -> Iterator[Columns]:
        """Those from `first` on."""
        for begin in range(first, len(LENGTHS), 3):
            part = np.array(LENGTHS[begin : begin + 3], dtype=np.uint32)
            numbers = np.arange(begin, begin + len(part))
            yield Columns(part, ids=numbers.astype(np.uint64))


@pytest.mark.parametrize("first", range(6))
@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_corpus_gives_its_own_columns(first: int, size: int) -> None:
    """As many at a time as asked for, wherever its chunks end."""
    parts = list(documents_from(_Corpus(), first, size))
    assert all(len(part.lengths) == size for part in parts[:-1])
    assert all(0 < len(part.lengths) <= size for part in parts)
    assert [n for part in parts for n in part.lengths.tolist()] == LENGTHS[first:]
    ids = [n for part in parts if part.ids is not None for n in part.ids.tolist()]
    assert ids == list(range(first, len(LENGTHS)))


def test_parts_do_not_end_where_columns_change() -> None:
    """Which is elsewhere in a run that goes on: a part's end decides steps."""
    lengths = np.array([1, 2, 3], dtype=np.uint32)
    more = np.array([0, 1, 2], dtype=np.uint32)
    chunks = [
        Columns(lengths),
        Columns(lengths, loss_tokens=more, sources=more + 7),
        Columns(lengths),
    ]
    parts = list(in_parts(chunks, 5))
    assert [part.lengths.tolist() for part in parts] == [[1, 2, 3, 1, 2], [3, 1, 2, 3]]
    loss_tokens = [p.loss_tokens.tolist() for p in parts if p.loss_tokens is not None]
    assert loss_tokens == [[1, 2, 3, 0, 1], [2, 1, 2, 3]]
    sources = [p.sources.tolist() for p in parts if p.sources is not None]
    assert sources == [[0, 0, 0, 7, 8], [9, 0, 0, 0]]
    assert [part.ids for part in parts] == [None, None]


def test_ids_of_some_documents_alone_are_refused() -> None:
    """A number in their place might be another's id."""
    lengths = np.array([1, 2], dtype=np.uint32)
    chunks = [Columns(lengths), Columns(lengths, ids=np.array([1, 2], dtype=np.uint64))]
    with pytest.raises(InvalidArgumentError, match="ids: of some documents alone"):
        list(in_parts(chunks, 4))


def test_a_file_has_one_length_a_line(tmp_path: Path) -> None:
    """As evenpackctl takes it."""
    file = tmp_path / "lengths.txt"
    file.write_text("5\n1\n7\n", encoding="ascii")
    assert _all(file, 1, 10) == [[1, 7]]


def test_the_other_columns_are_cut_alike() -> None:
    """Entry i of each is document i's."""
    documents = Documents(LENGTHS, ids=[10, 11, 12, 13, 14], loss_tokens=LENGTHS)
    parts = list(documents_from(documents, 1, 3))
    assert [p.ids.tolist() for p in parts if p.ids is not None] == [[11, 12, 13], [14]]
    for part in parts:
        assert part.loss_tokens is not None
        assert part.loss_tokens.tolist() == part.lengths.tolist()
    assert all(p.sources is None for p in parts)


@pytest.mark.parametrize(
    ("numbers", "named"),
    [
        ([1, -1], r"lengths\[1\]: -1 is not accepted; accepted: 0 to 4294967295"),
        ([1 << 32], r"lengths\[0\]: 4294967296 is not accepted"),
        ([1.5], "float64"),
        ([[1]], "shape"),
        ([[1], [2, 3]], r"lengths: \[\[1\], \[2, 3\]\] .*: one row of whole numbers"),
        (
            [1, None],
            r"lengths\[1\]: None is not accepted; accepted: a whole number, 0 to 429",
        ),
        (np.array([1, 2.5], dtype=object), r"lengths\[1\]: 2\.5 .*: a whole number"),
    ],
)
def test_what_are_no_lengths_is_refused_by_name(numbers: ArrayLike, named: str) -> None:
    """Which entry, and what would be accepted."""
    with pytest.raises(InvalidArgumentError, match=named):
        column("lengths", numbers, np.uint32)


@pytest.mark.parametrize("kind", ["u1", "u2", "<u4", ">u4", "i1", "i8", "u8"])
def test_a_column_may_be_of_any_integer_type(kind: str) -> None:
    """Whose numbers are within the range."""
    given = column("lengths", np.array([0, 7, 127], dtype=kind), np.uint32)
    assert given.dtype == np.uint32
    assert given.tolist() == [0, 7, 127]


@pytest.mark.parametrize("kind", [np.int8, np.int64])
def test_a_negative_number_is_none_of_a_column(kind: type[np.signedinteger]) -> None:
    """Of whatever type."""
    with pytest.raises(InvalidArgumentError, match=r"lengths\[1\]: -1 is not"):
        column("lengths", np.array([1, -1], dtype=kind), np.uint32)


def test_whole_numbers_of_both_halves_of_64_bits_are_one_column() -> None:
    """As hashes are."""
    numbers = [1, 1 << 63, (1 << 64) - 1]
    assert column("ids", numbers, np.uint64).tolist() == numbers


def test_a_column_of_another_length_is_refused() -> None:
    """It would belong to no document."""
    with pytest.raises(InvalidArgumentError, match=r"ids: 1 entries .* accepted: 5"):
        list(documents_from(Documents(LENGTHS, ids=[1]), 0, 10))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("5\nx\n", "line 2: 'x'"),
        ("-1", "line 1"),
        ("4294967296", "line 1: '4294967296' is not accepted; accepted: 0 to 42949672"),
        ("1\n" + "9" * 5000, "line 2: '999.*; accepted: 0 to 4294967295"),
    ],
)
def test_a_line_that_is_no_length_is_named(
    tmp_path: Path, text: str, named: str
) -> None:
    """With file and line."""
    file = tmp_path / "lengths.txt"
    file.write_text(text, encoding="ascii")
    with pytest.raises(InvalidArgumentError, match=named):
        list(documents_from(file, 0, 10))


def test_selected_documents_keep_their_columns_together() -> None:
    """Views of a range, copies of indices."""
    lengths = np.array([5, 6, 7], dtype=np.uint32)
    numbers = np.array([1, 2, 3], dtype=np.uint32)
    fours = np.full(3, 4, dtype=np.uint32)
    some = select(Columns(lengths, numbers.astype(np.uint64), fours), slice(1, 3))
    assert some.ids is not None
    assert some.loss_tokens is not None
    assert (some.lengths.tolist(), some.ids.tolist()) == ([6, 7], [2, 3])
    assert some.loss_tokens.tolist() == [4, 4]
    assert some.sources is None
    picked = select(Columns(lengths, sources=numbers), np.array([2, 0]))
    assert picked.sources is not None
    assert (picked.lengths.tolist(), picked.sources.tolist()) == ([7, 5], [3, 1])
