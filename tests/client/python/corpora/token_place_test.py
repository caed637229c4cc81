"""Tests of evenpack.corpora.token_place."""

from __future__ import annotations

from pathlib import Path

import pytest
from evenpack.corpora import (
    Blend,
    Concatenation,
    Corpus,
    Fields,
    IndexedDataset,
    IterableCorpus,
    JsonlCorpus,
    LengthCorpus,
    Repetition,
    SequenceCorpus,
    Shuffle,
    TokenFileCorpus,
    TokenPlace,
)
from evenpack.corpora.token_place import token_place_of
from evenpack.errors import InvalidArgumentError
from example_corpora import RawDataset, write_jsonl


def _dataset(prefix: Path) -> IndexedDataset:
    return IndexedDataset(RawDataset([[[1, 2]], [[3]]]).write(prefix))


def test_a_place_is_that_of_the_corpus(tmp_path: Path) -> None:
    place = token_place_of(_dataset(tmp_path / "a"), 1)
    assert place == TokenPlace(path=f"{tmp_path}/a.bin", token_bytes=4, offset=8)


def test_what_has_files_is_told_by_its_protocol(tmp_path: Path) -> None:
    dataset = _dataset(tmp_path / "a")
    mixtures: list[Corpus] = [
        dataset,
        Shuffle(dataset, seed=1),
        Blend([dataset], [1]),
        Concatenation([dataset]),
        Repetition(dataset, 2),
    ]
    assert all(isinstance(corpus, TokenFileCorpus) for corpus in mixtures)


def test_a_corpus_without_such_files_is_refused_by_its_kind(tmp_path: Path) -> None:
    lines = write_jsonl(tmp_path / "a.jsonl", [{"text": [1, 2]}])
    corpora: list[Corpus] = [
        SequenceCorpus([[1]]),
        LengthCorpus([1]),
        IterableCorpus([1]),
        JsonlCorpus(lines, Fields(tokens="text")),
    ]
    for corpus in corpora:
        kind = type(corpus).__name__
        for held in (corpus, Blend([corpus], [1])):
            with pytest.raises(InvalidArgumentError) as caught:
                token_place_of(held, 0)
            assert str(caught.value) == (
                f"corpus: {kind} is not accepted; accepted: an IndexedDataset, or a "
                "Shuffle, Blend, Concatenation or Repetition of some, whose tokens a "
                "server can read itself"
            )
