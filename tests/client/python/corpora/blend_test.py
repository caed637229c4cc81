"""Tests of evenpack.corpora.blend."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evenpack.corpora import (
    Blend,
    Corpus,
    IndexedDataset,
    IterableCorpus,
    LengthCorpus,
    Repetition,
    SequenceCorpus,
    Shuffle,
)
from evenpack.corpora.corpus import CHUNK_DOCUMENTS
from evenpack.document_columns import Columns
from evenpack.errors import InvalidArgumentError
from example_corpora import RawDataset, lengths, listed, random_documents, refusal


def _origins(blend: Blend) -> list[tuple[int, int]]:
    return [blend.locate(i) for i in range(len(blend))]


def _corpora(sizes: list[int], seed: int) -> list[SequenceCorpus]:
    documents = iter(random_documents(sum(sizes), seed))
    return [SequenceCorpus([next(documents) for _ in range(size)]) for size in sizes]


def test_each_corpus_gives_its_share_in_its_order() -> None:
    blend = Blend([LengthCorpus(range(1, 101)) for _ in range(3)], [5, 3, 2])
    origins = _origins(blend)
    assert len(blend) == 200
    for part, share in enumerate((100, 60, 40)):
        documents = [number for owner, number in origins if owner == part]
        assert documents == list(range(share))
    for begin in range(0, 200, 10):
        owners = [owner for owner, _ in origins[begin : begin + 10]]
        assert [owners.count(part) for part in range(3)] == [5, 3, 2]


@pytest.mark.parametrize("seed", range(15))
def test_it_goes_on_at_any_document(seed: int) -> None:
    draw = random.Random(seed)
    sizes = [draw.randrange(1, 60) for _ in range(draw.randrange(1, 5))]
    corpora = _corpora(sizes, seed)
    weights = [draw.randrange(1, 6) for _ in sizes]
    switches = [(draw.randrange(1, 20), [draw.randrange(1, 6) for _ in sizes])]
    blend = Blend(corpora, weights, switches=switches)
    expected = [corpora[part].tokens(number) for part, number in _origins(blend)]
    whole = listed(blend)
    assert whole["lengths"] == [len(tokens) for tokens in expected]
    assert whole["sources"] == [part for part, _ in _origins(blend)]
    for first in range(len(blend) + 1):
        rest = listed(blend, first)
        assert rest.get("lengths", []) == whole["lengths"][first:]
        assert rest.get("sources", []) == whole["sources"][first:]
    for i, tokens in enumerate(expected):
        assert blend.tokens(i).tolist() == tokens.tolist()
        assert blend.tokens(i, 1, 1).tolist() == []


@pytest.mark.parametrize("seed", range(15))
def test_no_document_comes_twice_whatever_the_switches(seed: int) -> None:
    draw = random.Random(seed)
    sizes = [draw.randrange(10, 60) for _ in range(3)]
    at = 0
    switches = []
    for _ in range(3):
        at += draw.randrange(1, 25)
        switches.append((at, [draw.choice([0, 1, 4]) for _ in sizes[1:]] + [1]))
    blend = Blend(_corpora(sizes, seed), [1, 2, 3], switches=switches)
    assert blend.barriers == tuple(begin for begin, _ in switches)
    for part in range(3):
        documents = [number for owner, number in _origins(blend) if owner == part]
        assert documents == list(range(len(documents)))


def test_it_ends_where_a_corpus_that_is_due_has_no_more() -> None:
    short, long = LengthCorpus([1] * 3), LengthCorpus([2] * 100)
    blend = Blend([short, long], [1, 1])
    assert lengths(blend) == lengths(Blend([IterableCorpus([1] * 3), long], [1, 1]))
    part, number = blend.locate(len(blend))
    assert (part, number) == (0, 3)


def test_what_is_left_over_where_it_ends_is_counted() -> None:
    web, code = LengthCorpus([1] * 30), Shuffle(LengthCorpus([2] * 30), seed=1)
    uneven = Blend([web, code], [3, 1])
    assert uneven.left_over(len(uneven)) == {"corpora[1] (Shuffle)": 20}
    even = Blend([web, code], [1, 1])
    assert even.left_over(len(even)) == {}
    # What a blend within leaves is named too, once nothing else of it is left.
    outer = Blend([uneven, LengthCorpus([3] * 40)], [1, 1])
    assert outer.left_over(80) == {"corpora[0].corpora[1] (Shuffle)": 20}
    assert outer.left_over(78) == {
        "corpora[0] (Blend)": 1,
        "corpora[1] (LengthCorpus)": 1,
    }


def test_what_is_left_out_on_purpose_or_not_known_is_not_left_over() -> None:
    corpora: list[Corpus] = [
        LengthCorpus([1] * 30),
        LengthCorpus([2] * 5),
        IterableCorpus([3] * 9),
    ]
    blend = Blend(corpora, [1, 0, 0], switches=[(10, [0, 1, 1])])
    assert blend.left_over(20) == {}


def test_a_corpus_of_weight_0_is_never_read() -> None:
    class Untouchable:
        def documents(self, first: int = 0) -> Iterator[Columns]:
            raise AssertionError(first)

    blend = Blend([LengthCorpus([1, 2]), Untouchable()], [1, 0])
    assert len(blend) == 2
    assert lengths(blend) == [1, 2]


def test_a_switch_ends_a_chunk_and_the_corpora_go_on_where_they_were() -> None:
    corpora = [LengthCorpus(range(1, 101)), LengthCorpus(range(101, 201))]
    blend = Blend(corpora, [1, 0], switches=[(10, [0, 1]), (15, [1, 0])])
    chunks = [columns.lengths.tolist() for columns in blend.documents()]
    assert chunks[:2] == [list(range(1, 11)), list(range(101, 106))]
    assert chunks[2][:3] == [11, 12, 13]
    assert len(blend) == 105


def test_more_documents_than_a_chunk_has_come_in_several() -> None:
    size = 3 * CHUNK_DOCUMENTS // 2
    blend = Blend([LengthCorpus([1] * size), LengthCorpus([2] * size)], [1, 1])
    sizes = [len(columns.lengths) for columns in blend.documents(5)]
    assert sum(sizes) == len(blend) - 5
    assert max(sizes) == CHUNK_DOCUMENTS


def test_sources_can_be_named_by_other_numbers() -> None:
    parts = [LengthCorpus([1] * 5, sources=[77] * 5), LengthCorpus([2] * 5)]
    found = listed(Blend(parts, [1, 1], sources=[30, (1 << 32) - 1]))
    named = {(length, source) for length, source in zip(*_pairs(found), strict=True)}
    assert named == {(1, 30), (2, (1 << 32) - 1)}


def _pairs(found: dict[str, list[int]]) -> tuple[list[int], list[int]]:
    return found["lengths"], found["sources"]


def test_columns_of_one_corpus_are_filled_for_the_other() -> None:
    parts = [
        LengthCorpus([3] * 4, ids=[1000] * 4, loss_tokens=[2] * 4),
        LengthCorpus([5] * 4),
    ]
    found = listed(Blend(parts, [1, 1]))
    for i, source in enumerate(found["sources"]):
        assert found["ids"][i] == (1000 if source == 0 else i)
        assert found["loss_tokens"][i] == (2 if source == 0 else 5)


def test_an_id_does_not_depend_on_what_else_is_read() -> None:
    parts = [LengthCorpus([3] * 9, ids=[1000] * 9), LengthCorpus([5] * 9)]
    blend = Blend(parts, [1, 0], switches=[(4, [0, 1]), (7, [1, 1])])
    whole = listed(blend)["ids"]
    assert whole[:7] == [1000] * 4 + [4, 5, 6]
    for first in range(len(blend)):
        assert listed(blend, first)["ids"] == whole[first:]


def test_shuffled_and_repeated_corpora_can_be_blended() -> None:
    web = Shuffle(SequenceCorpus(random_documents(20, seed=1)), seed=4)
    code = Repetition(SequenceCorpus(random_documents(5, seed=2)), 4)
    blend = Blend([web, code], [0.5, 0.5])
    assert len(blend) == 40
    expected = [
        (web, code)[part].tokens(number).tolist() for part, number in _origins(blend)
    ]
    assert [blend.tokens(i).tolist() for i in range(40)] == expected


class _Damaged:
    """A corpus of length 7 whose document `bad` can't be read."""

    def __init__(self, bad: int, chunk: int) -> None:
        self._bad = bad
        self._chunk = chunk

    def documents(self, first: int = 0) -> Iterator[Columns]:
        for begin in range(first, self._bad, self._chunk):
            size = min(self._chunk, self._bad - begin)
            yield Columns(np.full(size, 7, dtype=np.uint32))
        raise InvalidArgumentError(f"document {self._bad} is damaged")


@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_documents_before_a_damaged_one_come_before_its_error(chunk: int) -> None:
    good = LengthCorpus([2] * 50)
    blend = Blend([good, _Damaged(5, chunk)], [2, 1])
    found: list[int] = []
    with pytest.raises(InvalidArgumentError, match="document 5 is damaged"):
        for columns in blend.documents():
            found.extend(columns.lengths.tolist())
    assert found.count(7) == 5
    assert blend.locate(len(found)) == (1, 5)


def test_an_end_before_a_damaged_document_hides_it() -> None:
    blend = Blend([LengthCorpus([2] * 4), _Damaged(9, 3)], [1, 1])
    found = lengths(blend)
    assert found.count(2) == 4
    assert blend.locate(len(found)) == (0, 4)


def test_a_blend_that_does_not_know_its_length_says_so() -> None:
    parts: list[Corpus] = [IterableCorpus([1]), LengthCorpus([1])]
    with pytest.raises(TypeError):
        len(Blend(parts, [1, 1]))
    assert len(Blend(parts, [0, 1])) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"weights": [1]},
            "weights: 1 entries is not accepted; accepted: 2, one for each corpus",
        ),
        (
            {"weights": [1, 1], "sources": [1]},
            "sources: 1 entries is not accepted; accepted: 2, one for each corpus",
        ),
        (
            {"weights": [1, 1], "sources": [0, 1 << 32]},
            r"sources\[1\]: 4294967296 is not accepted; accepted: 0 to 4294967295",
        ),
        (
            {"weights": [1, 1], "switches": [(0, [1, 1])]},
            "switches: 0 is not accepted; accepted: above 0, where the one before",
        ),
        (
            {"weights": [1, 1], "switches": [(5, [1, 1]), (5, [1, 1])]},
            "switches: 5 is not accepted; accepted: above 5, where the one before",
        ),
        (
            {"weights": [1, 1], "switches": [(5, [1])]},
            "weights: 1 entries is not accepted; accepted: 2, one for each corpus",
        ),
    ],
)
def test_what_can_not_be_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        Blend([LengthCorpus([1]), LengthCorpus([1])], **arguments)


def test_a_document_beyond_the_end_is_refused() -> None:
    blend = Blend([LengthCorpus([1, 1]), LengthCorpus([1, 1])], [1, 1])
    with pytest.raises(InvalidArgumentError) as caught:
        blend.documents(5)
    assert str(caught.value) == "first: 5 is not accepted; accepted: 0 to 4"
    with pytest.raises(InvalidArgumentError, match="document: -1 is not accepted"):
        blend.locate(-1)


def test_places_are_those_of_the_corpus_that_is_due(tmp_path: Path) -> None:
    narrow = RawDataset([[[1, 2]], [[3]], [[4]]], 8, "<u2").write(tmp_path / "a")
    wide = RawDataset([[[5]], [[6]]]).write(tmp_path / "b")
    datasets = [IndexedDataset(narrow), IndexedDataset(wide)]
    blend = Blend(datasets, [2, 1])
    found = [blend.token_place(i) for i in range(len(blend))]
    expected = [datasets[part].token_place(i) for part, i in _origins(blend)]
    assert found == expected
    assert {place.path for place in found} == {f"{tmp_path}/{n}.bin" for n in "ab"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"corpora": "ab"}, "corpora[0]: str is not accepted; accepted: a corpus"),
        (
            {"corpora": LengthCorpus([1])},
            "corpora: LengthCorpus is not accepted; accepted: a list of corpora",
        ),
        (
            {"weights": 0.5},
            "weights: 0.5 is not accepted; accepted: 1, one for each corpus",
        ),
        (
            {"sources": 7},
            "sources: 7 is not accepted; accepted: 1, one for each corpus",
        ),
        (
            {"sources": [None]},
            "sources[0]: None is not accepted; accepted: an integer, 0 to 4294967295",
        ),
        (
            {"switches": None},
            "switches: None is not accepted; accepted: pairs of a document number and "
            "weights",
        ),
        (
            {"switches": [5]},
            "switches[0]: 5 is not accepted; accepted: pairs of a document number and "
            "weights",
        ),
        (
            {"switches": [("5", [1])]},
            "switches[0]: '5' is not accepted; accepted: an integer, 0 to "
            "18446744073709551615",
        ),
    ],
)
def test_what_is_of_another_kind_is_named(
    arguments: dict[str, Any], message: str
) -> None:
    whole: dict[str, Any] = {"corpora": [LengthCorpus([1])], "weights": [1]}
    assert refusal(Blend, **(whole | arguments)) == message
