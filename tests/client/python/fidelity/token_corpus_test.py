"""Tests of the corpus of tokens and the streams that are drawn from it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from source_text import Document
from token_corpus import (
    HELD_OUT_BELOW,
    LONG_KEPT_ONE_IN,
    TokenCorpus,
    tokenize,
    train_tokenizer,
    training_stream,
)


def _documents(texts: list[str]) -> list[Document]:
    digests = [hashlib.sha256(text.encode()).digest() for text in texts]
    return [Document(0, d, text) for d, text in zip(digests, texts, strict=True)]


def test_tokens_say_the_text_and_end_it() -> None:
    documents = _documents([f"word {i} and word {i + 1}" for i in range(50)])
    corpus = tokenize(documents, 300, 64)
    tokenizer = train_tokenizer([d.text for d in documents], 300)
    for i, document in enumerate(documents):
        *ids, end = corpus.document(i).tolist()
        assert end == 0
        assert tokenizer.decode(ids) == document.text
    assert (corpus.held_out == [d.digest[0] < HELD_OUT_BELOW for d in documents]).all()


def test_long_documents_are_thinned_out_and_cut() -> None:
    documents = _documents([f"{i} " + "x y z " * 200 for i in range(120)])
    corpus = tokenize(documents, 257, 32)
    kept = [d for d in documents if d.digest[1] % LONG_KEPT_ONE_IN == 0]
    assert 0 < len(kept) < 60
    assert corpus.lengths.tolist() == [32] * len(kept)
    assert 0 not in corpus.tokens


def test_a_saved_corpus_is_the_same(corpus: TokenCorpus, tmp_path: Path) -> None:
    corpus.save(tmp_path / "corpus.npz")
    loaded = TokenCorpus.load(tmp_path / "corpus.npz")
    assert (loaded.tokens == corpus.tokens).all()
    assert (loaded.document(7) == corpus.document(7)).all()
    assert (loaded.held_out == corpus.held_out).all()


def test_a_stream_has_documents_once_and_none_held_out(corpus: TokenCorpus) -> None:
    stream = training_stream(corpus, seed=3, tokens=6_000)
    assert len(set(stream.tolist())) == len(stream)
    assert not corpus.held_out[stream].any()
    lengths = corpus.lengths[stream]
    assert lengths[:-1].sum() < 6_000 <= lengths.sum()
    assert not np.array_equal(stream, training_stream(corpus, seed=4, tokens=6_000))


def test_more_tokens_than_there_are_is_refused(corpus: TokenCorpus) -> None:
    have = int(corpus.lengths[~corpus.held_out].sum())
    assert int(corpus.lengths[training_stream(corpus, 1, have)].sum()) == have
    with pytest.raises(ValueError, match=f"tokens: {have + 1} .*up to {have}"):
        training_stream(corpus, 1, have + 1)
