"""What Hugging Face's models and TRL take of a packed micro-batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenpack._native import MicroBatch
from evenpack.invalid_argument import invalid_argument
from evenpack.layouts.next_token_labels import (
    IGNORED_LABEL,
    Integers,
    checked_pad_token,
    checked_tokens,
    predicted_tokens,
)
from evenpack.layouts.padded_sequence import padded


@dataclass(frozen=True, eq=False)
class HfFlatBatch:
    """One flat sequence; documents are told apart by their positions and lengths.

    Its fields are arguments of a model's forward(). There is no attention mask: with
    one, models would take the sequence for a single document. So they would with a
    cache of keys, where their attention reads positions only: use_cache must be False.
    Models fail on a sequence of no tokens: T is 1 for a micro-batch without documents,
    of a token of padding.

    Attributes:
        input_ids: int64, [1, T].
        position_ids: int64, [1, T], from 0 in each document (or piece).
        labels: int64, [1, T]: the token itself, which the model moves by one; -100 for
            the first of each document, those that don't count in the loss, and padding.
        cu_seq_lens_q: int32, [documents + 1]: where documents begin, then T.
        cu_seq_lens_k: the same.
        max_length_q: tokens of the longest document, with padding.
        max_length_k: the same.
    """

    input_ids: NDArray[np.int64]
    position_ids: NDArray[np.int64]
    labels: NDArray[np.int64]
    cu_seq_lens_q: NDArray[np.int32]
    cu_seq_lens_k: NDArray[np.int32]
    max_length_q: int
    max_length_k: int


def hf_flat_batch(
    micro_batch: MicroBatch,
    tokens: Integers,
    *,
    counted: NDArray[np.bool_] | None = None,
    pad_token: int = 0,
) -> HfFlatBatch:
    """The micro-batch as one flat sequence.

    A label here is that of the token itself, so the token after a piece of a document
    can't be given: the last one of a piece predicts nothing.

    Args:
        micro_batch: of a job with context_parallel 1.
        tokens: of the unpadded sequence, as for `padded_sequence`.
        counted: as for `padded_sequence`.
        pad_token: as for `padded_sequence`.

    Raises:
        InvalidArgumentError: context_parallel is above 1, or as `padded_sequence`.
    """
    if micro_batch.context_parallel != 1:
        raise invalid_argument("context_parallel", micro_batch.context_parallel, "1")
    pad_token = checked_pad_token(pad_token)
    ids = checked_tokens(micro_batch, tokens)
    if micro_batch.documents == 0:
        return _token_of_padding(pad_token)
    labels = np.where(predicted_tokens(micro_batch, counted), ids, IGNORED_LABEL)
    starts = micro_batch.cu_seqlens_padded
    longest = micro_batch.max_seqlen_padded
    return HfFlatBatch(
        input_ids=padded(micro_batch, ids, pad_token)[np.newaxis],
        position_ids=micro_batch.padded_position_ids.astype(np.int64)[np.newaxis],
        labels=padded(micro_batch, labels, IGNORED_LABEL)[np.newaxis],
        cu_seq_lens_q=starts,
        cu_seq_lens_k=starts,
        max_length_q=longest,
        max_length_k=longest,
    )


def _token_of_padding(pad_token: int) -> HfFlatBatch:
    starts = np.array([0, 1], np.int32)
    return HfFlatBatch(
        input_ids=np.array([[pad_token]], np.int64),
        position_ids=np.zeros((1, 1), np.int64),
        labels=np.full((1, 1), IGNORED_LABEL, np.int64),
        cu_seq_lens_q=starts,
        cu_seq_lens_k=starts,
        max_length_q=1,
        max_length_k=1,
    )
