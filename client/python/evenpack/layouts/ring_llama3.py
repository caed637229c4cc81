"""What the llama3 style of ring-flash-attention takes of a context-parallel rank.

Rank r has the r-th of CP equal runs of the padded sequence. Its queries are of the
documents that the run has a part of; their keys begin where the first of these does,
and end where the run ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenpack._native import MicroBatch
from evenpack.layouts.layout_checks import (
    require_cp_rank,
    require_layout,
    require_sharding,
)
from evenpack.layouts.next_token_labels import Integers
from evenpack.layouts.padded_sequence import TokenColumns, padded_sequence


@dataclass(frozen=True, eq=False)
class RingLlama3Batch(TokenColumns):
    """A rank's run, and the arguments of llama3_flash_attn_varlen_func for it.

    The columns are [T / CP].

    Attributes:
        cu_seqlens_q: int32, [n + 1], where n documents are in the run: where their
            tokens begin in it, then how many tokens it has.
        cu_seqlens_k: int32, [n + 1]: where their keys begin within `local_k_slice`,
            then how long that is.
        max_seqlen_q: the most tokens of a document in the run.
        max_seqlen_k: the most keys of one.
        local_k_slice: the keys and values that the rank needs of the gathered sequence.
    """

    cu_seqlens_q: NDArray[np.int32]
    cu_seqlens_k: NDArray[np.int32]
    max_seqlen_q: int
    max_seqlen_k: int
    local_k_slice: slice


def ring_llama3_batch(
    micro_batch: MicroBatch,
    tokens: Integers,
    cp_rank: int,
    *,
    counted: NDArray[np.bool_] | None = None,
    following: Integers | None = None,
    pad_token: int = 0,
) -> RingLlama3Batch:
    """The rank's run as ring-flash-attention takes it, for causal attention.

    Args:
        micro_batch: of a job with layout ring_llama3, or any with context_parallel 1.
        tokens: of the unpadded sequence, as for `padded_sequence`.
        cp_rank: whose run.
        counted: as for `padded_sequence`.
        following: as for `padded_sequence`.
        pad_token: as for `padded_sequence`.

    Raises:
        InvalidArgumentError: another layout, no such rank, or as `padded_sequence`.
    """
    require_layout(micro_batch, ["ring_llama3"])
    require_sharding(micro_batch, "contiguous")
    require_cp_rank(micro_batch, cp_rank)
    run = micro_batch.padded_tokens // micro_batch.context_parallel
    begin, end = cp_rank * run, (cp_rank + 1) * run
    columns = padded_sequence(
        micro_batch, tokens, counted=counted, following=following, pad_token=pad_token
    ).take(np.arange(begin, end))
    starts = micro_batch.cu_seqlens_padded
    # The documents that begin before the run's end and end after its begin.
    first = int(np.searchsorted(starts, begin, side="right")) - 1
    last = int(np.searchsorted(starts, end, side="left"))
    own = starts[first : last + 1]
    queries = np.clip(own, begin, end) - begin
    keys = np.minimum(own, end) - own[0]
    return RingLlama3Batch(
        columns.tokens,
        columns.position_ids,
        columns.labels,
        columns.loss_mask,
        cu_seqlens_q=queries.astype(np.int32),
        cu_seqlens_k=keys.astype(np.int32),
        max_seqlen_q=int(np.diff(queries).max(initial=0)),
        max_seqlen_k=int(np.diff(keys).max(initial=0)),
        local_k_slice=slice(int(own[0]), end),
    )
