"""An account of what was trained on: each token of the corpus, and how often.

It is kept by what the ranks computed the losses of, not by what a server says it sent,
and is saved and taken back together with the weights. So at the end of a run it says
what is in the weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from evenpack import MicroBatch
from numpy.typing import NDArray


@dataclass(frozen=True)
class Account:
    """What a ledger comes to.

    Attributes:
        seen_once: documents of which every token was trained on exactly once.
        lost: numbers of documents with a token that never was.
        repeated: numbers of documents with a token that was more than once.
    """

    seen_once: int
    lost: list[int]
    repeated: list[int]


class TokenLedger:
    """One rank's part; those of all ranks add up."""

    def __init__(self, lengths: NDArray[np.uint32]) -> None:
        """Nothing was trained on yet.

        Args:
            lengths: tokens of each document of the corpus, at least 1.
        """
        self._begins = np.cumsum(lengths, dtype=np.int64) - lengths
        # Of each token, documents one after another.
        self.counts = np.zeros(int(lengths.sum()), np.int32)

    def places(
        self, micro_batch: MicroBatch, token_indices: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        """Which tokens of the corpus some tokens of a micro-batch are.

        Args:
            micro_batch: of a job with one stream, fed from the corpus.
            token_indices: which of its tokens without padding, as
                `NativeBatch.token_indices`.
        """
        pieces = np.searchsorted(micro_batch.cu_seqlens, token_indices, "right") - 1
        begins = self._begins[micro_batch.sequence] + micro_batch.offset
        return begins[pieces] + micro_batch.position_ids[token_indices]

    def add(self, places: NDArray[np.int64]) -> None:
        """Notes tokens of the corpus that an update of the weights was made of."""
        np.add.at(self.counts, places, 1)

    def account(self, counts: NDArray[np.int32]) -> Account:
        """What the ledgers of all ranks come to.

        Args:
            counts: the sum of theirs.
        """
        least = np.minimum.reduceat(counts, self._begins)
        most = np.maximum.reduceat(counts, self._begins)
        return Account(
            seen_once=int(((least == 1) & (most == 1)).sum()),
            lost=np.flatnonzero(least == 0).tolist(),
            repeated=np.flatnonzero(most > 1).tolist(),
        )
