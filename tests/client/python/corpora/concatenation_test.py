"""Tests of evenpack.corpora.concatenation."""

from __future__ import annotations

from pathlib import Path

import pytest
from evenpack.corpora import (
    Blend,
    Concatenation,
    Fields,
    IndexedDataset,
    JsonlCorpus,
    LengthCorpus,
    SequenceCorpus,
)
from evenpack.errors import InvalidArgumentError
from example_corpora import (
    RawDataset,
    lengths,
    listed,
    numbers,
    random_documents,
    refusal,
    write_jsonl,
)


def test_documents_come_corpus_by_corpus_from_any_one() -> None:
    documents = random_documents(30, seed=1)
    parts = [documents[:7], [], documents[7:8], documents[8:], []]
    corpus = Concatenation([SequenceCorpus(part) for part in parts])
    assert len(corpus) == 30
    expected = [len(document) for document in documents]
    for first in range(31):
        assert lengths(corpus, first) == expected[first:]
    mixed = [29, 0, 7, 8, 7]
    found = corpus.read(numbers(mixed)).lengths.tolist()
    assert found == [expected[i] for i in mixed]
    for i, document in enumerate(documents):
        assert corpus.tokens(i).tolist() == document


def test_a_document_is_located_in_its_corpus() -> None:
    corpus = Concatenation([LengthCorpus([1, 1]), LengthCorpus([]), LengthCorpus([1])])
    assert [corpus.locate(i) for i in range(3)] == [(0, 0), (0, 1), (2, 0)]


def test_shards_of_a_format_keep_their_columns(tmp_path: Path) -> None:
    shards = [
        JsonlCorpus(
            write_jsonl(tmp_path / f"{i}.jsonl", [{"n": 5, "id": 10 * i + j}] * 1),
            Fields(length="n"),
        )
        for i, j in ((1, 2), (2, 3))
    ]
    assert listed(Concatenation(shards)) == {"lengths": [5, 5], "ids": [12, 23]}


def test_an_id_does_not_depend_on_what_else_is_read() -> None:
    corpus = Concatenation(
        [LengthCorpus([1, 2]), LengthCorpus([3], ids=[77]), LengthCorpus([4])]
    )
    assert listed(corpus)["ids"] == [0, 1, 77, 3]
    for first in range(4):
        assert listed(corpus, first)["ids"] == [0, 1, 77, 3][first:]
        alone = corpus.read(numbers([first])).ids
        assert alone is not None
        assert alone.tolist() == [[0, 1, 77, 3][first]]


@pytest.mark.parametrize("document", [-1, 2])
def test_a_document_that_there_is_not_is_refused(document: int) -> None:
    corpus = Concatenation([SequenceCorpus([[1]]), SequenceCorpus([[2]])])
    for action in (corpus.locate, corpus.tokens):
        with pytest.raises(InvalidArgumentError) as caught:
            action(document)
        assert str(caught.value) == (
            f"document: {document} is not accepted; accepted: 0 to 1"
        )


def test_no_corpora_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="corpora: none is not accepted"):
        Concatenation([])


def test_places_are_in_the_files_of_each(tmp_path: Path) -> None:
    narrow = RawDataset([[[1, 2]], [[3]]], 8, "<u2").write(tmp_path / "a")
    wide = RawDataset([[[4]], [[5]]]).write(tmp_path / "b")
    corpus = Concatenation([IndexedDataset(narrow), IndexedDataset(wide)])
    assert [corpus.token_place(i) for i in range(4)] == [
        (f"{tmp_path}/a.bin", 2, 0),
        (f"{tmp_path}/a.bin", 2, 4),
        (f"{tmp_path}/b.bin", 4, 0),
        (f"{tmp_path}/b.bin", 4, 4),
    ]
    with pytest.raises(InvalidArgumentError, match="document: 4 is not accepted"):
        corpus.token_place(4)


@pytest.mark.parametrize(
    ("corpora", "message"),
    [
        (
            "ab",
            "corpora[0]: str is not accepted; accepted: one that gives any document",
        ),
        (None, "corpora: NoneType is not accepted; accepted: a list of corpora"),
        (
            LengthCorpus([1]),
            "corpora: LengthCorpus is not accepted; accepted: a list of corpora",
        ),
        (
            [LengthCorpus([1]), Blend([LengthCorpus([1])], [1])],
            "corpora[1]: Blend is not accepted; accepted: one that gives any document",
        ),
    ],
)
def test_what_are_no_corpora_is_refused(corpora: object, message: str) -> None:
    assert refusal(Concatenation, corpora).startswith(message)
