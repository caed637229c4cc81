"""Tests of evenpack.corpora.repetition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evenpack.corpora import (
    Blend,
    IndexedDataset,
    LengthCorpus,
    Repetition,
    SequenceCorpus,
)
from evenpack.errors import InvalidArgumentError
from example_corpora import RawDataset, lengths, listed, refusal


@pytest.mark.parametrize("first", range(7))
def test_a_corpus_comes_again_from_its_beginning(first: int) -> None:
    repetition = Repetition(LengthCorpus([4, 5, 6]), 2)
    assert len(repetition) == 6
    assert lengths(repetition, first) == [4, 5, 6, 4, 5, 6][first:]


def test_tokens_are_those_of_the_document() -> None:
    repetition = Repetition(SequenceCorpus([[1, 2, 3], [4]]), 3)
    assert repetition.tokens(4).tolist() == [1, 2, 3]
    assert repetition.tokens(5).tolist() == [4]
    assert repetition.tokens(2, 1, 2).tolist() == [2]


def test_a_corpus_without_documents_stays_so() -> None:
    assert listed(Repetition(LengthCorpus([]), 5)) == {}


def test_no_times_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="epochs: 0 is not accepted"):
        Repetition(LengthCorpus([1]), 0)


def test_a_document_behind_the_last_is_refused() -> None:
    with pytest.raises(
        InvalidArgumentError, match="document: 2 is not accepted; accepted: 0 to 1"
    ):
        Repetition(SequenceCorpus([[1]]), 2).tokens(2)


def test_places_are_those_of_the_documents(tmp_path: Path) -> None:
    dataset = IndexedDataset(RawDataset([[[1, 2]], [[3]]]).write(tmp_path / "a"))
    repetition = Repetition(dataset, 2)
    assert [repetition.token_place(i).offset for i in range(4)] == [0, 8, 0, 8]
    with pytest.raises(
        InvalidArgumentError, match="document: 4 is not accepted; accepted: 0 to 3"
    ):
        repetition.token_place(4)


def test_a_corpus_that_gives_its_documents_in_order_alone_is_refused() -> None:
    """At once, and not where its documents are asked for."""
    blend = Blend([LengthCorpus([1])], [1])
    with pytest.raises(InvalidArgumentError, match="corpus: Blend is not accepted"):
        Repetition(blend, 2)  # type: ignore[arg-type]


def test_times_that_are_no_number_are_refused() -> None:
    assert refusal(Repetition, LengthCorpus([1]), 1.5) == (
        "epochs: 1.5 is not accepted; accepted: an integer, 1 to 4294967295"
    )
    twice: Any = np.uint64(2)
    assert lengths(Repetition(LengthCorpus([1, 2]), twice)) == [1, 2, 1, 2]
