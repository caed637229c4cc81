"""What a context-parallel rank holds of a micro-batch for Evenpack's own executor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenpack._native import MicroBatch
from evenpack.layouts.layout_checks import require_cp_rank
from evenpack.layouts.next_token_labels import (
    IGNORED_LABEL,
    Integers,
    checked_pad_token,
    checked_tokens,
    next_token_labels,
)
from evenpack.layouts.padded_sequence import TokenColumns, loss_mask_of


@dataclass(frozen=True, eq=False)
class NativeBatch(TokenColumns):
    """A rank's tokens in local order, then its padding.

    The columns are [tokens + padding of the rank], as the rows of the executor's
    tensors; positions of padding are 0.

    Attributes:
        token_indices: int32, [tokens of the rank]: which token of the unpadded sequence
            each one is.
    """

    token_indices: NDArray[np.int32]


def _behind(values: NDArray[np.int64], padding: int, filler: int) -> NDArray[np.int64]:
    return np.concatenate([values, np.full(padding, filler, np.int64)])


def native_batch(
    micro_batch: MicroBatch,
    tokens: Integers,
    cp_rank: int,
    *,
    counted: NDArray[np.bool_] | None = None,
    following: Integers | None = None,
    pad_token: int = 0,
) -> NativeBatch:
    """The tokens that a rank computes queries for.

    Args:
        micro_batch: of any job: the executor computes any shard plan.
        tokens: of the unpadded sequence, as for `padded_sequence`.
        cp_rank: whose.
        counted: as for `padded_sequence`.
        following: as for `padded_sequence`.
        pad_token: as for `padded_sequence`.

    Raises:
        InvalidArgumentError: no such rank, or as `padded_sequence`.
    """
    require_cp_rank(micro_batch, cp_rank)
    pad_token = checked_pad_token(pad_token)
    ids = checked_tokens(micro_batch, tokens)
    slices = micro_batch.slices(cp_rank)
    own, padding = slices.token_indices, slices.padding
    labels = next_token_labels(micro_batch, ids, counted, following)[own]
    positions = micro_batch.position_ids[own].astype(np.int64)
    own_labels = _behind(labels, padding, IGNORED_LABEL)
    return NativeBatch(
        tokens=_behind(ids[own], padding, pad_token),
        position_ids=_behind(positions, padding, 0),
        labels=own_labels,
        loss_mask=loss_mask_of(own_labels),
        token_indices=own,
    )
