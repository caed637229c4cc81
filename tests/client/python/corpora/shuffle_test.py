"""Tests of evenpack.corpora.shuffle."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evenpack.corpora import (
    Blend,
    IndexedDataset,
    LengthCorpus,
    SequenceCorpus,
    Shuffle,
)
from evenpack.errors import InvalidArgumentError
from example_corpora import (
    RawDataset,
    lengths,
    listed,
    numbers,
    random_documents,
    refusal,
)

DOCUMENTS = random_documents(50, seed=3)


def _order(shuffle: Shuffle) -> list[int]:
    return [shuffle.document_at(i) for i in range(len(shuffle))]


@pytest.mark.parametrize("size", [1, 2, 7, 50])
@pytest.mark.parametrize("epochs", [1, 3])
def test_each_epoch_has_every_document_once(size: int, epochs: int) -> None:
    order = _order(Shuffle(LengthCorpus([1] * size), seed=5, epochs=epochs))
    assert len(order) == size * epochs
    for epoch in range(epochs):
        part = order[epoch * size : (epoch + 1) * size]
        assert sorted(part) == list(range(size))


def test_epochs_and_seeds_differ() -> None:
    corpus = LengthCorpus([1] * 50)
    order = _order(Shuffle(corpus, seed=5, epochs=2))
    assert order[:50] != order[50:]
    assert order[:50] == _order(Shuffle(corpus, seed=5))
    assert order[:50] != _order(Shuffle(corpus, seed=6))
    assert order[:50] != list(range(50))


def test_documents_and_tokens_are_those_of_the_order() -> None:
    shuffle = Shuffle(SequenceCorpus(DOCUMENTS), seed=9, epochs=2)
    expected = [DOCUMENTS[document] for document in _order(shuffle)]
    assert lengths(shuffle) == [len(document) for document in expected]
    for i, document in enumerate(expected):
        assert shuffle.tokens(i).tolist() == document
        assert shuffle.tokens(i, 1).tolist() == document[1:]


def test_all_columns_move_together() -> None:
    corpus = LengthCorpus(
        range(1, 41), ids=range(100, 140), loss_tokens=range(40), sources=range(40)
    )
    found = listed(Shuffle(corpus, seed=1))
    assert sorted(found["ids"]) == list(range(100, 140))
    assert found["lengths"] == [i - 99 for i in found["ids"]]
    assert found["loss_tokens"] == [i - 100 for i in found["ids"]]
    assert found["sources"] == found["loss_tokens"]


def test_it_goes_on_at_any_document() -> None:
    shuffle = Shuffle(LengthCorpus(range(1, 31)), seed=2, epochs=3)
    whole = lengths(shuffle)
    draw = random.Random(1)
    for first in [0, 30, 90, *(draw.randrange(91) for _ in range(20))]:
        assert lengths(shuffle, first) == whole[first:]
    assert shuffle.read(numbers([89, 0, 0])).lengths.tolist() == [
        whole[89],
        whole[0],
        whole[0],
    ]


def test_a_document_is_found_in_every_epoch() -> None:
    shuffle = Shuffle(LengthCorpus([1] * 20), seed=4, epochs=3)
    order = _order(shuffle)
    for document in range(20):
        expected = [i for i, there in enumerate(order) if there == document]
        assert shuffle.numbers_of(document) == expected


def test_a_corpus_without_documents_stays_so() -> None:
    assert listed(Shuffle(LengthCorpus([]), seed=1, epochs=4)) == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed: -1 is not accepted; accepted: 0 to 18446744073709551615"),
        (
            {"seed": 1, "epochs": 0},
            "epochs: 0 is not accepted; accepted: 1 to 42949672",
        ),
    ],
)
def test_what_is_outside_its_range_is_refused(
    arguments: dict[str, int], message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        Shuffle(LengthCorpus([1]), **arguments)


def test_a_document_that_there_is_not_is_refused() -> None:
    shuffle = Shuffle(LengthCorpus([1, 2]), seed=1)
    with pytest.raises(InvalidArgumentError, match="document: 2 is not accepted"):
        shuffle.document_at(2)
    with pytest.raises(InvalidArgumentError, match="document: -1 is not accepted"):
        shuffle.numbers_of(-1)


def test_places_are_those_of_the_documents(tmp_path: Path) -> None:
    raw = RawDataset([[document] for document in DOCUMENTS])
    dataset = IndexedDataset(raw.write(tmp_path / "a"))
    shuffle = Shuffle(dataset, seed=9, epochs=2)
    found = [shuffle.token_place(i) for i in range(len(shuffle))]
    assert found == [dataset.token_place(i) for i in _order(shuffle)]
    with pytest.raises(InvalidArgumentError, match="document: 100 is not accepted"):
        shuffle.token_place(100)


def test_a_corpus_that_gives_its_documents_in_order_alone_is_refused() -> None:
    """At once, and not where its documents are asked for."""
    blend = Blend([LengthCorpus([1])], [1])
    with pytest.raises(InvalidArgumentError, match="corpus: Blend is not accepted"):
        Shuffle(blend, seed=1)  # type: ignore[arg-type]


def test_numbers_of_numpy_and_pytorch_are_taken() -> None:
    torch = pytest.importorskip("torch")
    expected = _order(Shuffle(SequenceCorpus(DOCUMENTS), seed=3, epochs=2))
    kinds: list[Any] = [np.int32, np.int64, np.uint64, torch.tensor]
    for kind in kinds:
        shuffle = Shuffle(SequenceCorpus(DOCUMENTS), seed=kind(3), epochs=kind(2))
        assert _order(shuffle) == expected
        assert shuffle.document_at(kind(7)) == expected[7]
        assert shuffle.numbers_of(kind(expected[7]))[0] == 7
        document = DOCUMENTS[expected[7]]
        assert shuffle.tokens(kind(7), kind(0), kind(1)).tolist() == document[:1]
        assert lengths(shuffle, kind(90)) == lengths(shuffle, 90)


def test_what_is_no_seed_is_refused() -> None:
    corpus = LengthCorpus([1])
    accepted = "an integer, 0 to 18446744073709551615"
    for seed, shown in ((None, "None"), (1.0, "1.0"), ("1", "'1'")):
        message = f"seed: {shown} is not accepted; accepted: {accepted}"
        assert refusal(Shuffle, corpus, seed) == message
    assert refusal(Shuffle, corpus, 1, epochs=1.5) == (
        "epochs: 1.5 is not accepted; accepted: an integer, 1 to 4294967295"
    )
