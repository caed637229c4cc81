"""Tests of evenpack.corpora.sequence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from evenpack.corpora import IterableCorpus, LengthCorpus, SequenceCorpus
from evenpack.corpora.corpus import CHUNK_DOCUMENTS
from evenpack.errors import FailedPreconditionError, InvalidArgumentError
from example_corpora import lengths, listed, numbers, random_documents
from numpy.typing import ArrayLike


def test_columns_come_as_they_were_given() -> None:
    corpus = LengthCorpus([5, 6, 7], ids=[9, 8, 7], loss_tokens=[5, 0, 1])
    expected = {"lengths": [5, 6, 7], "ids": [9, 8, 7], "loss_tokens": [5, 0, 1]}
    assert listed(corpus) == expected
    assert listed(corpus, 2) == {name: c[2:] for name, c in expected.items()}
    assert corpus.read(numbers([2, 0])).lengths.tolist() == [7, 5]
    assert listed(LengthCorpus([1], sources=[3])) == {"lengths": [1], "sources": [3]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"lengths": [1, 0]},
            "document 1: length: 0 is not accepted; accepted: 1 to 2147483647",
        ),
        ({"lengths": [1 << 31]}, "document 0: length: 2147483648 is not accepted"),
        ({"lengths": [1 << 32]}, r"lengths\[0\]: 4294967296 is not accepted"),
        ({"lengths": [1.5]}, "lengths: float64"),
        (
            {"lengths": [1, 2], "ids": [1]},
            "ids: 1 entries is not accepted; accepted: 2, one for each of lengths",
        ),
        ({"lengths": [1], "sources": [-1]}, r"sources\[0\]: -1 is not accepted"),
        (
            {"lengths": [4, 4], "loss_tokens": [4, 5]},
            "document 1: loss_tokens: 5 is not accepted; accepted: 0 to 4, the tokens",
        ),
    ],
)
def test_columns_that_can_not_be_are_refused(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        LengthCorpus(**arguments)


def test_lists_and_arrays_of_tokens_are_documents() -> None:
    documents = random_documents(20, seed=2)
    corpus = SequenceCorpus(
        [np.array(d, dtype=np.uint16) if i % 2 else d for i, d in enumerate(documents)]
    )
    assert len(corpus) == 20
    assert lengths(corpus) == [len(document) for document in documents]
    for i, document in enumerate(documents):
        assert corpus.tokens(i).tolist() == document
        assert corpus.tokens(i, 1, len(document)).tolist() == document[1:]
    assert corpus.tokens(1).dtype == np.uint16


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "document 1: length: 0 is not accepted; accepted: 1 to 2147483647"),
        ([[1]], r"document 1: tokens: int64 of shape \(1, 1\) is not accepted"),
        ([0.5], r"document 1: tokens: float64 of shape \(1,\) is not accepted"),
        (
            [[1], [2, 3]],
            r"document 1: tokens: \[\[1\], \[2, 3\]\] is not accepted; .*: one row",
        ),
        (5, r"document 1: tokens: int64 of shape \(\) is not accepted"),
    ],
)
def test_a_document_that_is_no_row_of_integers_is_named(
    document: ArrayLike, message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        SequenceCorpus([[1], document])


def test_what_has_no_documents_is_refused() -> None:
    make: tuple[Any, ...] = (SequenceCorpus, IterableCorpus)
    accepted = "a sequence of rows of token ids", "what gives lengths or token ids"
    for corpus, words in zip(make, accepted, strict=True):
        with pytest.raises(InvalidArgumentError) as caught:
            corpus(None)
        assert str(caught.value).startswith(
            f"documents: None is not accepted; accepted: {words}"
        )


@pytest.mark.parametrize(
    ("document", "begin", "end", "message"),
    [
        (1, 0, None, "document: 1 is not accepted; accepted: 0 to 0"),
        (0, 0, 4, "document 0: end: 4 is not accepted; accepted: 0 to 3"),
    ],
)
def test_tokens_that_there_are_not_are_refused(
    document: int, begin: int, end: int | None, message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        SequenceCorpus([[1, 2, 3]]).tokens(document, begin, end)


@pytest.mark.parametrize("first", [0, 1, CHUNK_DOCUMENTS, CHUNK_DOCUMENTS + 2])
def test_an_iterable_goes_on_by_passing_over(first: int) -> None:
    whole = [1 + i % 9 for i in range(CHUNK_DOCUMENTS + 2)]
    corpus = IterableCorpus(whole)
    assert lengths(corpus, first) == whole[first:]
    assert lengths(corpus, first) == whole[first:]


def test_lengths_and_tokens_may_be_mixed() -> None:
    items: list[Any] = [4, [1, 2], np.array([3, 4, 5]), np.int32(6)]
    assert lengths(IterableCorpus(items)) == [4, 2, 3, 6]


def test_an_iterator_can_be_read_once() -> None:
    corpus = IterableCorpus(iter([1, 2, 3]))
    assert lengths(corpus, 1) == [2, 3]
    with pytest.raises(FailedPreconditionError, match="the iterator was read before"):
        corpus.documents(0)


def test_a_generator_without_end_is_read_as_far_as_it_is_wanted() -> None:
    def endless() -> Iterator[int]:
        while True:
            yield 3

    chunk = next(IterableCorpus(endless()).documents())
    assert chunk.lengths.tolist() == [3] * CHUNK_DOCUMENTS


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (0, "document 2: length: 0 is not accepted; accepted: 1 to 2147483647"),
        (1 << 31, "document 2: length: 2147483648 is not accepted"),
        ([], "document 2: length: 0 is not accepted"),
        (True, r"document 2: tokens: bool of shape \(\) is not accepted"),
        ("ab", "document 2: tokens: str"),
    ],
)
@pytest.mark.parametrize("first", [0, 1])
def test_documents_before_a_bad_one_come_before_its_error(
    wrong: int | ArrayLike, message: str, first: int
) -> None:
    found: list[int] = []
    with pytest.raises(InvalidArgumentError, match=message):
        for columns in IterableCorpus([8, 9, wrong, 7]).documents(first):
            found.extend(columns.lengths.tolist())
    assert found == [8, 9][first:]


def test_an_error_of_the_source_is_passed_on_behind_the_documents() -> None:
    def breaking() -> Iterator[int]:
        yield 5
        raise OSError("gone")

    found = []
    with pytest.raises(OSError, match="gone"):
        for columns in IterableCorpus(breaking()).documents():
            found.append(columns.lengths.tolist())
    assert found == [[5]]


def test_a_document_beyond_the_end_is_refused() -> None:
    assert lengths(IterableCorpus([1, 2]), 2) == []
    with pytest.raises(InvalidArgumentError) as caught:
        lengths(IterableCorpus([1, 2]), 3)
    assert str(caught.value) == "first: 3 is not accepted; accepted: 0 to 2"
