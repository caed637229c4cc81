"""The documents as tokens: those to train on, and those that are held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from evenpack.corpora import LengthCorpus, Shuffle
from numpy.typing import NDArray
from source_text import Document
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

END_OF_DOCUMENT = 0
# The first byte of a document's digest below which it is held out.
HELD_OUT_BELOW = 10
# How many documents the vocabulary is made of: the first ones, which the order of
# digests has drawn at random.
VOCABULARY_DOCUMENTS = 8_000
# Documents from this part of the context length on are long: where the first queue of
# wlb begins. Of them one in so many is kept, by digest, so that they hold the share of
# all tokens that they have in the lengths which WLB-LLM published: 15 %.
LONG_PART = 3 / 8
LONG_KEPT_ONE_IN = 6


@dataclass(frozen=True)
class TokenCorpus:
    """Documents as token ids, one after another.

    Attributes:
        tokens: uint16 [all tokens].
        offsets: int64 [documents + 1]: where each begins, then the number of tokens.
        kinds: uint8 [documents]: index in `source_text.KINDS`.
        held_out: bool [documents]: not to be trained on.
    """

    tokens: NDArray[np.uint16]
    offsets: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    held_out: NDArray[np.bool_]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each document."""
        return np.diff(self.offsets)

    def document(self, number: int) -> NDArray[np.uint16]:
        """The tokens of a document."""
        return self.tokens[self.offsets[number] : self.offsets[number + 1]]

    def save(self, path: Path) -> None:
        """Writes it as .npz."""
        np.savez(
            path,
            tokens=self.tokens,
            offsets=self.offsets,
            kinds=self.kinds,
            held_out=self.held_out,
        )

    @classmethod
    def load(cls, path: Path) -> TokenCorpus:
        """What `save` wrote."""
        with np.load(path) as file:
            return cls(**{name: file[name] for name in file.files})


def train_tokenizer(texts: Sequence[str], vocabulary: int) -> Tokenizer:
    """A byte-level BPE of so many tokens, of which 0 ends a document."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=["<end>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def tokenize(
    documents: Sequence[Document], vocabulary: int, context: int
) -> TokenCorpus:
    """Tokens of documents; of one above the context length, its first `context`.

    Long documents are thinned out as LONG_KEPT_ONE_IN says.

    Args:
        documents: no two alike, in the order of their digests.
        vocabulary: how many tokens there are, 257 to 65,536.
        context: L, tokens that a document has at most.
    """
    read = documents[:VOCABULARY_DOCUMENTS]
    tokenizer = train_tokenizer([document.text for document in read], vocabulary)
    kept, pieces = [], []
    for document in documents:
        ids = tokenizer.encode(document.text).ids
        if len(ids) >= LONG_PART * context and document.digest[1] % LONG_KEPT_ONE_IN:
            continue
        kept.append(document)
        pieces.append(np.array([*ids, END_OF_DOCUMENT], dtype=np.uint16)[:context])
    lengths = [len(piece) for piece in pieces]
    return TokenCorpus(
        tokens=np.concatenate(pieces),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        kinds=np.array([document.kind for document in kept], dtype=np.uint8),
        held_out=np.array([d.digest[0] < HELD_OUT_BELOW for d in kept]),
    )


def training_stream(corpus: TokenCorpus, seed: int, tokens: int) -> NDArray[np.int64]:
    """The documents to train on, shuffled, up to the one that reaches `tokens`.

    Args:
        corpus: of which none that are held out come.
        seed: of the shuffle.
        tokens: how many are wanted.

    Returns:
        Numbers of documents, in the order of the stream.

    Raises:
        ValueError: the corpus has less.
    """
    candidates = np.flatnonzero(~corpus.held_out)
    shuffle = Shuffle(LengthCorpus(corpus.lengths[candidates]), seed=seed)
    order = [shuffle.document_at(i) for i in range(len(shuffle))]
    documents = candidates[np.array(order)]
    sums = np.cumsum(corpus.lengths[documents])
    if len(sums) == 0 or sums[-1] < tokens:
        have = 0 if len(sums) == 0 else int(sums[-1])
        raise ValueError(f"tokens: {tokens} is not accepted; accepted: up to {have}")
    return documents[: int(np.searchsorted(sums, tokens)) + 1]
