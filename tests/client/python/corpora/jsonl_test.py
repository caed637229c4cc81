"""Tests of evenpack.corpora.jsonl."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import pytest
from evenpack.corpora import ByteTokenizer, Fields, JsonlCorpus
from evenpack.errors import InvalidArgumentError
from example_corpora import (
    lengths,
    listed,
    numbers,
    random_documents,
    refusal,
    write_jsonl,
)


def test_texts_have_a_token_for_each_byte(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a", [{"text": "ab"}, {"text": "\u20ac"}])
    corpus = JsonlCorpus(path, Fields(text="text"))
    assert listed(corpus) == {"lengths": [2, 3], "ids": [0, 1]}
    assert corpus.tokens(1).tolist() == [0xE2, 0x82, 0xAC]
    assert corpus.tokens(0, 1).tolist() == [ord("b")]


def test_texts_are_tokenized_by_the_tokenizer_given(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a", [{"text": "ab"}, {"text": ""}])
    tokenizer = ByteTokenizer(end_of_document=256)
    corpus = JsonlCorpus(path, Fields(text="text"), tokenizer=tokenizer)
    assert lengths(corpus) == [3, 1]
    assert corpus.tokens(0).tolist() == [97, 98, 256]


def test_token_lists_are_documents(tmp_path: Path) -> None:
    documents = random_documents(20, seed=1)
    path = write_jsonl(tmp_path / "a", [{"ids": d} for d in documents])
    corpus = JsonlCorpus(path, Fields(tokens="ids"))
    assert lengths(corpus) == [len(document) for document in documents]
    assert [corpus.tokens(i).tolist() for i in range(20)] == documents


def test_all_columns_are_read(tmp_path: Path) -> None:
    fields = Fields(length="n", id="key", loss_tokens="loss", source="from")
    records = [
        {"n": 5, "key": 9, "loss": 5, "from": 2},
        {"n": 6, "key": 1 << 63, "loss": 0, "from": 0},
    ]
    corpus = JsonlCorpus(write_jsonl(tmp_path / "a", records), fields)
    assert listed(corpus) == {
        "lengths": [5, 6],
        "ids": [9, 1 << 63],
        "loss_tokens": [5, 0],
        "sources": [2, 0],
    }


def test_a_document_without_an_id_has_its_number(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [{"n": 1, "id": 70}, {"n": 2}, {"n": 3, "id": "x"}]
    path = write_jsonl(tmp_path / "a", records)
    corpus = JsonlCorpus(path, Fields(length="n"))
    assert listed(corpus)["ids"] == [70, 1, 2]
    assert listed(corpus, 2)["ids"] == [2]


@pytest.mark.parametrize("chunk_bytes", [1, 40, 1 << 20])
def test_it_goes_on_at_any_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk_bytes: int
) -> None:
    monkeypatch.setattr("evenpack.corpora.jsonl._CHUNK_BYTES", chunk_bytes)
    draw = random.Random(1)
    texts = ["x" * draw.randrange(1, 30) for _ in range(60)]
    path = write_jsonl(tmp_path / "a", [{"text": text} for text in texts])
    corpus = JsonlCorpus(path, Fields(text="text"))
    expected = [len(text) for text in texts]
    assert len(corpus) == 60
    for first in range(61):
        assert lengths(corpus, first) == expected[first:]
    mixed = [draw.randrange(60) for _ in range(100)]
    found = corpus.read(numbers(mixed)).lengths.tolist()
    assert found == [expected[i] for i in mixed]


def test_only_the_lines_asked_for_are_parsed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text('no json\n{"n": 4}\nno json\n', encoding="utf-8")
    corpus = JsonlCorpus(path, Fields(length="n"))
    assert corpus.read(numbers([1, 1])).lengths.tolist() == [4, 4]


BAD_LINES = [
    ('{"n": 0}', "field 'n': 0 is not accepted; accepted: a whole number from 1 to"),
    ("", "line: b'' is not accepted; accepted: a JSON object"),
    (
        '{"n": 5, "loss": 6}',
        "field 'loss': 6 is not accepted; accepted: 0 to 5, the tokens of the document",
    ),
]


@pytest.mark.parametrize(("line", "message"), BAD_LINES)
def test_lines_before_a_bad_one_come_before_its_error(
    tmp_path: Path, line: str, message: str
) -> None:
    path = tmp_path / "a"
    good = '{"n": 7, "loss": 1}'
    path.write_text(f"{good}\n{good}\n{line}\n{good}\n", encoding="utf-8")
    corpus = JsonlCorpus(path, Fields(length="n", loss_tokens="loss"))
    found: list[int] = []
    with pytest.raises(InvalidArgumentError) as caught:
        for columns in corpus.documents(1):
            found.extend(columns.lengths.tolist())
    assert found == [7]
    assert str(caught.value).startswith(f"{path}: line 3: {message}")
    with pytest.raises(InvalidArgumentError, match="line 3: "):
        corpus.read(numbers([0, 2]))
    with pytest.raises(InvalidArgumentError, match="line 3: "):
        next(corpus.documents(2))


@pytest.mark.parametrize(
    ("fields", "record"),
    [(Fields(text="t"), {"t": ""}), (Fields(tokens="t"), {"t": []})],
)
def test_a_document_without_a_token_is_refused(
    tmp_path: Path, fields: Fields, record: dict[str, Any]
) -> None:
    path = write_jsonl(tmp_path / "a", [record])
    with pytest.raises(InvalidArgumentError) as caught:
        listed(JsonlCorpus(path, fields))
    assert str(caught.value) == (
        f"{path}: line 1: field 't': one without a token is not accepted; accepted: "
        "at least one"
    )


def test_a_corpus_of_lengths_has_no_tokens(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a", [{"n": 3}])
    with pytest.raises(InvalidArgumentError) as caught:
        JsonlCorpus(path, Fields(length="n")).tokens(0)
    assert str(caught.value) == (
        f"{path}: tokens: field 'n', a length, is not accepted; accepted: fields with "
        "a text or with tokens"
    )


@pytest.mark.parametrize(
    ("document", "end", "message"),
    [
        (1, None, "document: 1 is not accepted; accepted: 0 to 0"),
        (0, 4, "document 0: end: 4 is not accepted; accepted: 0 to 3"),
    ],
)
def test_tokens_that_there_are_not_are_refused(
    tmp_path: Path, document: int, end: int | None, message: str
) -> None:
    corpus = JsonlCorpus(
        write_jsonl(tmp_path / "a", [{"t": [1, 2, 3]}]), Fields(tokens="t")
    )
    with pytest.raises(InvalidArgumentError) as caught:
        corpus.tokens(document, 0, end)
    assert str(caught.value) == message


def test_an_empty_file_has_no_documents(tmp_path: Path) -> None:
    assert listed(JsonlCorpus(write_jsonl(tmp_path / "a", []), Fields(text="t"))) == {}


def test_it_can_be_sent_to_another_process(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a", [{"t": "abc"}])
    corpus = JsonlCorpus(
        path,
        Fields(text="t"),
        tokenizer=ByteTokenizer(7),
        index_path=tmp_path / "a.lines",
    )
    again = pickle.loads(pickle.dumps(corpus))
    assert again.tokens(0).tolist() == [97, 98, 99, 7]
    assert (tmp_path / "a.lines").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"tokenizer": "gpt2"},
            "tokenizer: 'gpt2' is not accepted; accepted: a Tokenizer, as "
            "load_tokenizer() makes one, or None",
        ),
        ({"fields": "text"}, "fields: str is not accepted; accepted: a Fields"),
        (
            {"path": None},
            "path: None is not accepted; accepted: a str, or an os.PathLike of one",
        ),
        (
            {"index_path": 1},
            "index_path: 1 is not accepted; accepted: a str, or an os.PathLike of one",
        ),
    ],
)
def test_an_argument_of_another_kind_is_named(
    tmp_path: Path, arguments: dict[str, Any], message: str
) -> None:
    file = write_jsonl(tmp_path / "a.jsonl", [{"text": "a"}])
    whole: dict[str, Any] = {"path": file, "fields": Fields(text="text")}
    assert refusal(JsonlCorpus, **(whole | arguments)) == message
