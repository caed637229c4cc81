"""Tests of evenpack.corpora.corpus."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from evenpack.corpora import (
    Blend,
    Corpus,
    HasBarriers,
    IterableCorpus,
    LengthCorpus,
    RandomAccess,
    RandomAccessCorpus,
    SequenceCorpus,
    TokenCorpus,
)
from evenpack.corpora.corpus import (
    CHUNK_DOCUMENTS,
    Numbers,
    check_numbers,
    checked_piece,
    document_tokens,
    documents_of,
)
from evenpack.document_columns import Columns
from evenpack.errors import InvalidArgumentError
from example_corpora import lengths, numbers, refusal


class Rising(RandomAccess):
    """Document i has i + 1 tokens."""

    def __init__(self, documents: int) -> None:
        self._documents = documents

    def __len__(self) -> int:
        return self._documents

    def read(self, numbers: Numbers) -> Columns:
        return Columns((numbers + 1).astype(np.uint32))


@pytest.mark.parametrize(
    "size",
    [0, 1, CHUNK_DOCUMENTS - 1, CHUNK_DOCUMENTS, CHUNK_DOCUMENTS + 1],
)
@pytest.mark.parametrize("skipped", [0, 1, CHUNK_DOCUMENTS])
def test_documents_by_number_come_in_order_from_any_one(
    size: int, skipped: int
) -> None:
    first = min(size, skipped)
    assert lengths(Rising(size), first) == list(range(first + 1, size + 1))


def test_no_chunk_is_larger_than_a_chunk() -> None:
    sizes = [len(c.lengths) for c in Rising(2 * CHUNK_DOCUMENTS + 3).documents(1)]
    assert sizes == [CHUNK_DOCUMENTS, CHUNK_DOCUMENTS, 2]


class _Damaged(Rising):
    """One document of which can't be read, and those read together with it."""

    def __init__(self, documents: int, damaged: int) -> None:
        super().__init__(documents)
        self._damaged = damaged
        self.reads = 0

    def read(self, numbers: Numbers) -> Columns:
        self.reads += 1
        if self._damaged in numbers:
            raise InvalidArgumentError(f"document {self._damaged}")
        return super().read(numbers)


@pytest.mark.parametrize("damaged", [0, 1, 6, 7, 8191, 8192, 8193, 8999])
@pytest.mark.parametrize("first", [0, 1, 5])
def test_documents_before_one_that_can_not_be_read_come_before_its_error(
    damaged: int, first: int
) -> None:
    corpus = _Damaged(9000, damaged)
    found = []
    if damaged < first:
        assert lengths(corpus, first) == list(range(first + 1, 9001))
        return
    with pytest.raises(InvalidArgumentError, match=f"^document {damaged}$"):
        for columns in corpus.documents(first):
            assert len(columns.lengths) > 0
            found += columns.lengths.tolist()
    assert found == list(range(first + 1, damaged + 1))
    assert corpus.reads <= 16


@pytest.mark.parametrize("first", [-1, 4])
def test_documents_beyond_the_end_are_refused_at_once(first: int) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        Rising(3).documents(first)
    assert str(caught.value) == f"first: {first} is not accepted; accepted: 0 to 3"


@pytest.mark.parametrize("wrong", [-1, 3])
def test_a_number_that_no_document_has_is_named(wrong: int) -> None:
    check_numbers(numbers([0, 2]), 3)
    with pytest.raises(InvalidArgumentError) as caught:
        check_numbers(numbers([0, wrong, 7]), 3)
    assert str(caught.value) == f"document: {wrong} is not accepted; accepted: 0 to 2"


def test_a_piece_ends_where_it_is_told_or_with_the_document() -> None:
    assert checked_piece(0, 2, 5, 9) == (2, 5)
    assert checked_piece(0, 2, None, 9) == (2, 9)
    assert checked_piece(0, 9, 9, 9) == (9, 9)


@pytest.mark.parametrize(
    ("begin", "end", "message"),
    [
        (0, 10, "document 4: end: 10 is not accepted; accepted: 0 to 9"),
        (0, -1, "document 4: end: -1 is not accepted; accepted: 0 to 9"),
        (-1, 2, "document 4: begin: -1 is not accepted; accepted: 0 to 2"),
        (3, 2, "document 4: begin: 3 is not accepted; accepted: 0 to 2"),
    ],
)
def test_what_is_no_piece_is_refused(begin: int, end: int, message: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        checked_piece(4, begin, end, 9)
    assert str(caught.value) == message


def test_a_corpus_may_not_know_how_many_documents_it_has() -> None:
    assert documents_of(Rising(3)) == 3
    assert documents_of(IterableCorpus([1, 2])) is None
    assert documents_of(Blend([IterableCorpus([1])], [1])) is None


def test_tokens_are_those_of_the_corpus() -> None:
    assert document_tokens(SequenceCorpus([[5, 6, 7]]), 0, 1, 3).tolist() == [6, 7]


def test_a_corpus_of_lengths_alone_has_no_tokens() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        document_tokens(LengthCorpus([3]), 0)
    assert str(caught.value) == (
        "corpus: LengthCorpus is not accepted; accepted: one that has tokens, not "
        "lengths alone"
    )


def test_what_a_corpus_can_do_is_told_by_its_protocols() -> None:
    lists, blend = SequenceCorpus([[1]]), Blend([LengthCorpus([1])], [1])
    assert isinstance(IterableCorpus([1]), Corpus)
    assert not isinstance(IterableCorpus([1]), RandomAccessCorpus)
    assert isinstance(lists, RandomAccessCorpus)
    assert isinstance(lists, TokenCorpus)
    assert not isinstance(LengthCorpus([1]), TokenCorpus)
    assert isinstance(blend, HasBarriers)
    assert not isinstance(lists, HasBarriers)


def test_a_piece_of_numbers_of_numpy_is_of_pythons_own() -> None:
    begin: Any = np.uint64(2)
    found = checked_piece(0, begin, begin + begin, 9)
    assert found == (2, 4)
    assert [type(number) for number in found] == [int, int]
    assert refusal(checked_piece, 4, "0", None, 9) == (
        "document 4: begin: '0' is not accepted; accepted: an integer, 0 to 9"
    )
