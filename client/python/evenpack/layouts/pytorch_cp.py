"""What PyTorch's context parallelism takes (torch.distributed.tensor.experimental)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenpack._native import MicroBatch
from evenpack.layouts.head_tail_order import head_tail_part
from evenpack.layouts.layout_checks import HEAD_TAIL_LAYOUTS, require_layout
from evenpack.layouts.next_token_labels import Integers
from evenpack.layouts.padded_sequence import TokenColumns, padded_sequence


@dataclass(frozen=True, eq=False)
class PytorchCpBatch(TokenColumns):
    """A micro-batch in sequence order, and how to hand it to the ranks.

    The columns are [T]. A tensor rearranged by `permutation` is cut in CP equal runs,
    and rank r has run r; `inverse` undoes it.

    Attributes:
        document_lengths: int64, [documents], with padding: PyTorch's
            seq_length_per_doc. Multiples of 2 * CP if the job cuts per_document and CP
            is above 1.
        permutation: int64, [T]: `rearranged = sequence[permutation]`.
        inverse: int64, [T]: `sequence = rearranged[inverse]`.
    """

    document_lengths: NDArray[np.int64]
    permutation: NDArray[np.int64]
    inverse: NDArray[np.int64]


def pytorch_cp_batch(
    micro_batch: MicroBatch,
    tokens: Integers,
    *,
    counted: NDArray[np.bool_] | None = None,
    following: Integers | None = None,
    pad_token: int = 0,
) -> PytorchCpBatch:
    """The micro-batch as PyTorch's context parallelism takes it.

    Sharding per_document gives the order of PyTorch's load balancer per document, and
    per_sequence that of its default one, which cuts the whole sequence head and tail.

    Args:
        micro_batch: of a job with layout megatron_thd, te_thd or pytorch_cp, or any
            with context_parallel 1.
        tokens: of the unpadded sequence, as for `padded_sequence`.
        counted: as for `padded_sequence`.
        following: as for `padded_sequence`.
        pad_token: as for `padded_sequence`.

    Raises:
        InvalidArgumentError: another layout, or as `padded_sequence`.
    """
    require_layout(micro_batch, HEAD_TAIL_LAYOUTS)
    columns = padded_sequence(
        micro_batch, tokens, counted=counted, following=following, pad_token=pad_token
    )
    documents = micro_batch.cu_seqlens_padded.astype(np.int64)
    whole = np.array([0, micro_batch.padded_tokens])
    starts = documents if micro_batch.sharding == "per_document" else whole
    ranks = range(micro_batch.context_parallel)
    permutation = np.concatenate([head_tail_part(starts, len(ranks), r) for r in ranks])
    inverse = np.empty_like(permutation)
    inverse[permutation] = np.arange(permutation.size)
    return PytorchCpBatch(
        columns.tokens,
        columns.position_ids,
        columns.labels,
        columns.loss_mask,
        document_lengths=np.diff(documents),
        permutation=permutation,
        inverse=inverse,
    )
