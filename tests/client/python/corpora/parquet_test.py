"""Tests of evenpack.corpora.parquet."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from evenpack.corpora import (
    Blend,
    ByteTokenizer,
    Concatenation,
    Fields,
    ParquetCorpus,
)
from evenpack.corpora.arrow_columns import ArrowTable
from evenpack.errors import InvalidArgumentError
from example_corpora import lengths, listed, numbers, random_documents

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

DOCUMENTS = random_documents(50, seed=8)


def _write(path: Path, rows: int, **columns: list[Any]) -> Path:
    parquet.write_table(pyarrow.table(columns), path, row_group_size=rows)
    return path


@pytest.mark.parametrize("rows", [1, 7, 50, 1000])
@pytest.mark.parametrize("chunk", [3, 8192])
def test_rows_are_documents_from_any_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, chunk: int
) -> None:
    monkeypatch.setattr("evenpack.corpora.parquet.CHUNK_DOCUMENTS", chunk)
    path = _write(tmp_path / "a.parquet", rows, ids=DOCUMENTS)
    corpus = ParquetCorpus(path, Fields(tokens="ids"))
    expected = [len(document) for document in DOCUMENTS]
    assert len(corpus) == 50
    for first in range(51):
        assert lengths(corpus, first) == expected[first:]
    assert max(len(c.lengths) for c in corpus.documents()) <= chunk


@pytest.mark.parametrize("rows", [1, 7, 50])
def test_documents_can_be_read_in_any_order(tmp_path: Path, rows: int) -> None:
    keys = list(range(100, 150))
    path = _write(tmp_path / "a.parquet", rows, ids=DOCUMENTS, key=keys)
    corpus = ParquetCorpus(path, Fields(tokens="ids", id="key"))
    mixed = [49, 0, 7, 8, 7]
    found = corpus.read(numbers(mixed))
    assert found.lengths.tolist() == [len(DOCUMENTS[i]) for i in mixed]
    assert found.ids is not None
    assert found.ids.tolist() == [keys[i] for i in mixed]
    for i in (49, 0, 1, 2, 30, 29):
        assert corpus.tokens(i).tolist() == DOCUMENTS[i]
        assert corpus.tokens(i, 1).tolist() == DOCUMENTS[i][1:]


def test_a_row_group_is_read_once_for_its_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _write(tmp_path / "a.parquet", 10, ids=DOCUMENTS)
    corpus = ParquetCorpus(path, Fields(tokens="ids"))
    read: list[int] = []

    read_row_group = corpus._file.read_row_group

    class Counting:
        def read_row_group(self, group: int, columns: list[str]) -> ArrowTable:
            read.append(group)
            return read_row_group(group, columns=columns)

    monkeypatch.setattr(corpus, "_file", Counting())
    for i in range(20, 30):
        corpus.tokens(i)
    corpus.read(numbers([25, 41, 20, 49]))
    assert read == [2, 4]


def test_texts_are_tokenized(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.parquet", 1, text=["ab", "\u20ac"])
    corpus = ParquetCorpus(path, Fields(text="text"), tokenizer=ByteTokenizer(256))
    assert lengths(corpus) == [3, 4]
    assert corpus.tokens(1).tolist() == [0xE2, 0x82, 0xAC, 256]


def test_a_bad_row_is_named_by_its_number(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.parquet", 2, n=[1, 2, 3, 0, 5])
    corpus = ParquetCorpus(path, Fields(length="n"))
    message = f"{path}: row 3: column 'n': 0 is not accepted; accepted: 1 to 2147483647"
    for action in (
        lambda: lengths(corpus),
        lambda: lengths(corpus, 3),
        lambda: corpus.read(numbers([3])),
    ):
        with pytest.raises(InvalidArgumentError) as caught:
            action()
        assert str(caught.value) == message
    assert lengths(corpus, 4) == [5]


def test_shards_come_one_after_another(tmp_path: Path) -> None:
    shards = [
        ParquetCorpus(
            _write(tmp_path / f"{i}.parquet", 4, ids=DOCUMENTS[i * 10 : i * 10 + 10]),
            Fields(tokens="ids"),
        )
        for i in range(5)
    ]
    corpus = Concatenation(shards)
    assert lengths(corpus, 13) == [len(document) for document in DOCUMENTS[13:]]
    blend = Blend([corpus, Concatenation(shards[:1])], [4, 1])
    assert [blend.tokens(i).tolist() for i in range(len(blend))] == [
        DOCUMENTS[number] for _, number in map(blend.locate, range(len(blend)))
    ]


def test_a_file_without_rows_has_no_documents(tmp_path: Path) -> None:
    table = pyarrow.table({"n": pyarrow.array([], pyarrow.int64())})
    parquet.write_table(table, tmp_path / "a.parquet")
    corpus = ParquetCorpus(tmp_path / "a.parquet", Fields(length="n"))
    assert (len(corpus), listed(corpus)) == (0, {})


@pytest.mark.parametrize("content", [None, b"", b"no parquet at all"])
def test_what_is_no_parquet_file_is_named(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "a.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidArgumentError) as caught:
        ParquetCorpus(path, Fields(length="n"))
    assert str(caught.value).startswith(f"path: {path} (")
    assert str(caught.value).endswith("is not accepted; accepted: a Parquet file")


@pytest.mark.parametrize(
    ("document", "end", "message"),
    [
        (2, None, "document: 2 is not accepted; accepted: 0 to 1"),
        (1, 2, "document 1: end: 2 is not accepted; accepted: 0 to 1"),
    ],
)
def test_tokens_that_there_are_not_are_refused(
    tmp_path: Path, document: int, end: int | None, message: str
) -> None:
    path = _write(tmp_path / "a.parquet", 2, ids=[[1, 2], [3]])
    with pytest.raises(InvalidArgumentError) as caught:
        ParquetCorpus(path, Fields(tokens="ids")).tokens(document, 0, end)
    assert str(caught.value) == message


def test_a_document_beyond_the_end_is_refused(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.parquet", 2, n=[1, 2])
    with pytest.raises(
        InvalidArgumentError, match="first: 3 is not accepted; accepted: 0 to 2"
    ):
        ParquetCorpus(path, Fields(length="n")).documents(3)


def test_it_can_be_sent_to_another_process(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.parquet", 3, ids=DOCUMENTS)
    corpus = ParquetCorpus(path, Fields(tokens="ids"))
    corpus.tokens(0)
    again = pickle.loads(pickle.dumps(corpus))
    assert again.tokens(3).tolist() == DOCUMENTS[3]


def test_rows_before_a_bad_one_come_before_its_error(tmp_path: Path) -> None:
    """Also where a blend has the corpus."""
    path = _write(tmp_path / "a.parquet", 100, n=[1] * 40 + [0] + [2] * 20)
    corpus = ParquetCorpus(path, Fields(length="n"))
    for source, expected in ((corpus, 40), (Blend([corpus], [1]), 40)):
        found = 0
        with pytest.raises(InvalidArgumentError, match="row 40"):
            for columns in source.documents():
                found += len(columns.lengths)
        assert found == expected
