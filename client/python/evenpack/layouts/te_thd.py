"""What TransformerEngine's THD attention wants of a context-parallel rank."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenpack._native import MicroBatch
from evenpack.layouts.head_tail_order import head_tail_part
from evenpack.layouts.layout_checks import (
    HEAD_TAIL_LAYOUTS,
    require_cp_rank,
    require_layout,
    require_sharding,
)


def te_thd_indices(micro_batch: MicroBatch, cp_rank: int) -> NDArray[np.int32]:
    """The rank's tokens in the padded sequence: int32, [padded_tokens / CP].

    Of each document chunk r, then chunk 2 * CP - 1 - r: what
    `thd_get_partitioned_indices(cu_seqlens_padded, padded_tokens, CP, r)` returns on a
    device.

    Args:
        micro_batch: of a job with layout megatron_thd, te_thd or pytorch_cp and
            sharding per_document, or any with context_parallel 1.
        cp_rank: r, 0 to context_parallel - 1.

    Raises:
        InvalidArgumentError: another layout or sharding, or no such rank.
    """
    require_layout(micro_batch, HEAD_TAIL_LAYOUTS)
    require_sharding(micro_batch, "per_document")
    require_cp_rank(micro_batch, cp_rank)
    starts = micro_batch.cu_seqlens_padded
    part = head_tail_part(starts, micro_batch.context_parallel, cp_rank)
    return part.astype(np.int32)
