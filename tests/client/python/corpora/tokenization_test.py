"""Tests of evenpack.corpora.tokenization."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from evenpack.corpora import ByteTokenizer, Fields, JsonlCorpus, tokenize_jsonl
from evenpack.errors import InvalidArgumentError
from example_corpora import listed, write_jsonl

TEXTS = ["one", "\u00e4\u20ac", "", "four"]


def test_the_dataset_has_the_tokens_of_the_texts(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"body": text} for text in TEXTS])
    tokenizer = ByteTokenizer(end_of_document=256)
    dataset = tokenize_jsonl(path, tmp_path / "a", tokenizer, text_field="body")
    corpus = JsonlCorpus(path, Fields(text="body"), tokenizer=tokenizer)
    assert len(dataset) == len(corpus) == 4
    assert listed(dataset)["lengths"] == listed(corpus)["lengths"]
    for i in range(4):
        assert dataset.tokens(i).tolist() == corpus.tokens(i).tolist()
    assert dataset.token_type == np.dtype("<u2")


@pytest.mark.parametrize("batch_bytes", [1, 30])
def test_texts_without_a_token_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch_bytes: int
) -> None:
    monkeypatch.setattr("evenpack.corpora.tokenization._BATCH_BYTES", batch_bytes)
    path = write_jsonl(tmp_path / "a.jsonl", [{"text": text} for text in TEXTS])
    dataset = tokenize_jsonl(path, tmp_path / "a")
    assert dataset.documents_without_tokens == 1
    texts = [bytes(dataset.tokens(i).tolist()).decode() for i in range(3)]
    assert texts == ["one", "\u00e4\u20ac", "four"]


def test_the_type_of_tokens_can_be_chosen(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"text": "ab"}])
    assert tokenize_jsonl(path, tmp_path / "a", token_type=np.int64).token_type == "<i8"
    large = ByteTokenizer(end_of_document=100_000)
    assert tokenize_jsonl(path, tmp_path / "b", large).token_type == "<i4"


def test_a_bad_line_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"text": "a"}, {"txt": "b"}])
    with pytest.raises(InvalidArgumentError) as caught:
        tokenize_jsonl(path, tmp_path / "a")
    assert str(caught.value) == (
        f"{path}: line 2: field 'text': a line without it is not accepted; accepted: "
        "a text"
    )
    assert [p.name for p in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_token_that_the_type_can_not_hold_is_named(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"text": "a"}])
    tokenizer = ByteTokenizer(end_of_document=256)
    with pytest.raises(
        InvalidArgumentError,
        match="document 0: token: 256 is not accepted; accepted: 0 to 255",
    ):
        tokenize_jsonl(path, tmp_path / "a", tokenizer, token_type=np.uint8)
