"""Segment ids: what Grain, seqio and other packers tell documents apart by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenpack._native import MicroBatch
from evenpack.layouts.next_token_labels import Integers
from evenpack.layouts.padded_sequence import padded, padded_sequence


@dataclass(frozen=True, eq=False)
class SegmentIdBatch:
    """The padded sequence of a micro-batch; each array is [T].

    Attributes:
        tokens: int64, token ids.
        segment_ids: int32, 1 for the first document (or piece), 2 for the next and so
            on; 0 for padding. A token attends to those of its own segment.
        positions: int32, from 0 in each document; 0 for padding.
        labels: int64, the token to be predicted; -100 where there is none.
        loss_mask: float32, 0 where the label is -100, else 1.
    """

    tokens: NDArray[np.int64]
    segment_ids: NDArray[np.int32]
    positions: NDArray[np.int32]
    labels: NDArray[np.int64]
    loss_mask: NDArray[np.float32]


def segment_id_batch(
    micro_batch: MicroBatch,
    tokens: Integers,
    *,
    counted: NDArray[np.bool_] | None = None,
    following: Integers | None = None,
    pad_token: int = 0,
) -> SegmentIdBatch:
    """The micro-batch with segment ids, in sequence order.

    Args:
        micro_batch: of any job.
        tokens: of the unpadded sequence, as for `padded_sequence`.
        counted: as for `padded_sequence`.
        following: as for `padded_sequence`.
        pad_token: as for `padded_sequence`.

    Raises:
        InvalidArgumentError: as `padded_sequence`.
    """
    columns = padded_sequence(
        micro_batch, tokens, counted=counted, following=following, pad_token=pad_token
    )
    numbers = np.arange(1, micro_batch.documents + 1, dtype=np.int32)
    segments = np.repeat(numbers, np.diff(micro_batch.cu_seqlens))
    return SegmentIdBatch(
        tokens=columns.tokens,
        segment_ids=padded(micro_batch, segments, 0),
        positions=padded(micro_batch, micro_batch.position_ids, 0),
        labels=columns.labels,
        loss_mask=columns.loss_mask,
    )
