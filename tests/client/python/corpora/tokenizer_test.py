"""Tests of evenpack.corpora.tokenizer."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evenpack.corpora import (
    ByteTokenizer,
    HuggingFaceTokenizer,
    TiktokenTokenizer,
    load_tokenizer,
)
from evenpack.corpora.tokenizer import HuggingFaceSource, TiktokenSource
from evenpack.errors import InvalidArgumentError
from example_corpora import refusal

TEXTS = ["ab c", "", "\u20ac"]


def _listed(encoded: list[np.ndarray[Any, np.dtype[np.uint32]]]) -> list[list[int]]:
    assert all(ids.dtype == np.uint32 for ids in encoded)
    return [ids.tolist() for ids in encoded]


def test_bytes_are_those_of_utf8() -> None:
    tokenizer = ByteTokenizer()
    assert _listed(tokenizer.encode(TEXTS)) == [list(text.encode()) for text in TEXTS]
    assert tokenizer.count(TEXTS) == [4, 0, 3]
    assert tokenizer.vocabulary == 256
    assert tokenizer.encode([]) == []


@pytest.mark.parametrize(
    ("end", "vocabulary"), [(0, 256), (256, 257), ((1 << 31) - 1, 1 << 31)]
)
def test_an_end_of_document_is_put_behind_each_text(end: int, vocabulary: int) -> None:
    tokenizer = ByteTokenizer(end_of_document=end)
    assert _listed(tokenizer.encode(["a", ""])) == [[97, end], [end]]
    assert tokenizer.count(["a", ""]) == [2, 1]
    assert tokenizer.vocabulary == vocabulary


@pytest.mark.parametrize("end", [-1, 1 << 31])
def test_an_end_of_document_outside_its_range_is_refused(end: int) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        ByteTokenizer(end)
    assert str(caught.value) == (
        f"end_of_document: {end} is not accepted; accepted: 0 to 2147483647"
    )


@pytest.mark.parametrize(
    ("name", "end", "message"),
    [
        (
            "words",
            None,
            "tokenizer: 'words' is not accepted; accepted: bytes, tiktoken:ENCODING, "
            "or the path of a tokenizer.json",
        ),
        (
            "bytes",
            "</s>",
            "end_of_document: '</s>' is not accepted; accepted: a number; bytes have "
            "no names",
        ),
    ],
)
def test_a_name_that_there_is_not_is_refused(
    name: str, end: str | None, message: str
) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        load_tokenizer(name, end)
    assert str(caught.value) == message


def test_bytes_are_loaded_by_name() -> None:
    assert _listed(load_tokenizer("bytes", 3).encode(["a"])) == [[97, 3]]


@pytest.mark.parametrize(
    ("name", "library"),
    [("a/tokenizer.json", "tokenizers"), ("tiktoken:cl100k_base", "tiktoken")],
)
def test_a_library_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(
        InvalidArgumentError, match=f"tokenizer: {library} is not installed .*accepted"
    ):
        load_tokenizer(name)


def _word_tokenizer() -> HuggingFaceSource:
    """Words of Hugging Face's tokenizers, which asks to truncate and to pad."""
    tokenizers = pytest.importorskip("tokenizers")
    words = {"[UNK]": 0, "ab": 1, "c": 2, "[CLS]": 3, "</s>": 4}
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel(vocab=words, unk_token="[UNK]")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A", special_tokens=[("[CLS]", 3)]
    )
    made.enable_truncation(max_length=2)
    made.enable_padding(length=4)
    return made


def test_a_hugging_face_tokenizer_neither_truncates_nor_pads() -> None:
    made = _word_tokenizer()
    tokenizer = HuggingFaceTokenizer(made)
    texts = ["ab c ab c", "", "other"]
    assert _listed(tokenizer.encode(texts)) == [[1, 2, 1, 2], [], [0]]
    assert tokenizer.count(texts) == [4, 0, 1]
    assert tokenizer.vocabulary == 5
    # The one that was given is as it was.
    assert made.encode("ab c ab c").ids == [3, 1, 0, 0]


def test_a_vocabulary_ends_with_its_highest_id() -> None:
    """Where it leaves ids out there are fewer."""
    tokenizers = pytest.importorskip("tokenizers")
    words = {"[UNK]": 0, "ab": 1, "c": 70_000}
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel(vocab=words, unk_token="[UNK]")
    )
    assert HuggingFaceTokenizer(made).vocabulary == 70_001


def test_special_tokens_and_the_end_of_a_document_are_added_if_wanted() -> None:
    made = _word_tokenizer()
    with_both = HuggingFaceTokenizer(made, special_tokens=True, end_of_document="</s>")
    assert _listed(with_both.encode(["ab", ""])) == [[3, 1, 4], [3, 4]]
    assert with_both.count(["ab", ""]) == [3, 2]
    by_number = HuggingFaceTokenizer(made, end_of_document=9)
    assert _listed(by_number.encode(["ab"])) == [[1, 9]]
    assert by_number.vocabulary == 10


def test_a_hugging_face_tokenizer_is_loaded_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    _word_tokenizer().save(str(path))
    for tokenizer in (
        load_tokenizer(str(path), "</s>"),
        HuggingFaceTokenizer(path, end_of_document=4),
    ):
        assert _listed(tokenizer.encode(["c ab"])) == [[2, 1, 4]]
        again = pickle.loads(pickle.dumps(tokenizer))
        assert _listed(again.encode(["c ab"])) == [[2, 1, 4]]


def test_a_hugging_face_file_or_token_that_there_is_not_is_refused(
    tmp_path: Path,
) -> None:
    made = _word_tokenizer()
    with pytest.raises(
        InvalidArgumentError,
        match="end_of_document: '<none>' is not accepted; accepted: a token that there",
    ):
        HuggingFaceTokenizer(made, end_of_document="<none>")
    with pytest.raises(
        InvalidArgumentError,
        match=r"tokenizer: .*none\.json .* is not accepted; accepted: a tokenizer",
    ):
        load_tokenizer(str(tmp_path / "none.json"))
    with pytest.raises(InvalidArgumentError, match=r"tokenizer: 5 .* is not accepted"):
        HuggingFaceTokenizer(5)


def _byte_pairs() -> TiktokenSource:
    """A small encoding of tiktoken's: all bytes, one pair and an end."""
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
    return tiktoken.Encoding(
        "small",
        pat_str=r"\S+|\s+",
        mergeable_ranks=ranks,
        special_tokens={"<|end|>": 257},
    )


def test_a_tiktoken_encoding_makes_tokens() -> None:
    tokenizer = TiktokenTokenizer(_byte_pairs(), end_of_document="<|end|>")
    assert _listed(tokenizer.encode(["abc", ""])) == [[256, 99, 257], [257]]
    assert tokenizer.count(["abc", ""]) == [3, 1]
    assert tokenizer.vocabulary == 258


def test_special_tokens_in_a_text_are_text() -> None:
    tokenizer = TiktokenTokenizer(_byte_pairs())
    assert _listed(tokenizer.encode(["<|end|>"])) == [list(b"<|end|>")]


def test_a_tiktoken_token_or_encoding_that_there_is_not_is_refused() -> None:
    with pytest.raises(
        InvalidArgumentError,
        match="end_of_document: '<none>' is not accepted; accepted: a token that there",
    ):
        TiktokenTokenizer(_byte_pairs(), end_of_document="<none>")
    with pytest.raises(
        InvalidArgumentError, match=r"tokenizer: 'none' is not accepted; .*cl100k_base"
    ):
        load_tokenizer("tiktoken:none")


def test_what_names_no_tokenizer_is_refused() -> None:
    for name, shown in ((None, "None"), (1, "1")):
        assert refusal(load_tokenizer, name) == (
            f"tokenizer: {shown} is not accepted; accepted: a str, or an os.PathLike "
            "of one"
        )
    assert refusal(load_tokenizer, "bytes", 1.5) == (
        "end_of_document: 1.5 is not accepted; accepted: an integer, 0 to 2147483647"
    )
    assert refusal(TiktokenTokenizer, None) == (
        "tokenizer: None is not accepted; accepted: a tiktoken.Encoding, or the name "
        "of one"
    )
