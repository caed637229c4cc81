"""A micro-batch's tokens where its padded sequence has them.

Padding is behind the documents that have it: no token that attends causally sees it,
and its label is ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from evenpack._native import MicroBatch
from evenpack.layouts.next_token_labels import (
    IGNORED_LABEL,
    Integers,
    checked_pad_token,
    checked_tokens,
    next_token_labels,
)

Number = TypeVar("Number", np.int64, np.int32, np.bool_)


@dataclass(frozen=True, eq=False)
class TokenColumns:
    """What a causal language model is trained on; one entry a token, all equally long.

    Attributes:
        tokens: int64, token ids.
        position_ids: int64, position within the document (or piece), from 0; counting
            on through its padding.
        labels: int64, the token to be predicted; -100 where there is none.
        loss_mask: float32, 0 where the label is -100, else 1.
    """

    tokens: NDArray[np.int64]
    position_ids: NDArray[np.int64]
    labels: NDArray[np.int64]
    loss_mask: NDArray[np.float32]

    def take(self, indices: Integers) -> TokenColumns:
        """The entries at `indices`, in their order."""
        return TokenColumns(
            self.tokens[indices],
            self.position_ids[indices],
            self.labels[indices],
            self.loss_mask[indices],
        )


def loss_mask_of(labels: NDArray[np.int64]) -> NDArray[np.float32]:
    """float32: 0 where the label is ignored, else 1."""
    mask: NDArray[np.float32] = (labels != IGNORED_LABEL).astype(np.float32)
    return mask


def padded_places(micro_batch: MicroBatch) -> NDArray[np.int64]:
    """Where the padded sequence has each token: int64, [micro_batch.tokens]."""
    starts = micro_batch.cu_seqlens.astype(np.int64)
    shift = micro_batch.cu_seqlens_padded[:-1] - starts[:-1]
    places: NDArray[np.int64] = np.arange(micro_batch.tokens)
    places += np.repeat(shift, np.diff(starts))
    return places


def padded(
    micro_batch: MicroBatch, values: NDArray[Number], padding: int
) -> NDArray[Number]:
    """The same in the padded sequence: [micro_batch.padded_tokens].

    Args:
        micro_batch: of any layout.
        values: [micro_batch.tokens], of the unpadded sequence.
        padding: what its padding has.
    """
    placed: NDArray[Number] = np.full(micro_batch.padded_tokens, padding, values.dtype)
    placed[padded_places(micro_batch)] = values
    return placed


def padded_sequence(
    micro_batch: MicroBatch,
    tokens: Integers,
    *,
    counted: NDArray[np.bool_] | None = None,
    following: Integers | None = None,
    pad_token: int = 0,
) -> TokenColumns:
    """The columns of the padded sequence, each [micro_batch.padded_tokens].

    Args:
        micro_batch: of any layout.
        tokens: of any integer type, [micro_batch.tokens]: those of its documents (or
            pieces) one after another, without padding.
        counted: bool, [micro_batch.tokens]: which tokens count in the loss, as what is
            to be predicted. None: all those of documents with document_loss_tokens.
        following: of any integer type, [micro_batch.documents]: the token after the
            last one of each document or piece, to be predicted by that; -1 where there
            is none. None: all -1, and no last token has a label.
        pad_token: the token id of padding.

    Raises:
        InvalidArgumentError: another shape or type, or `counted` is None and but some
            tokens of a document count.
    """
    pad_token = checked_pad_token(pad_token)
    ids = checked_tokens(micro_batch, tokens)
    following_labels = next_token_labels(micro_batch, ids, counted, following)
    labels = padded(micro_batch, following_labels, IGNORED_LABEL)
    return TokenColumns(
        tokens=padded(micro_batch, ids, pad_token),
        position_ids=micro_batch.padded_position_ids.astype(np.int64),
        labels=labels,
        loss_mask=loss_mask_of(labels),
    )
