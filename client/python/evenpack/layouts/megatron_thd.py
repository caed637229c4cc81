"""What Megatron-Core takes of a packed micro-batch (its THD format)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from evenpack._native import MicroBatch
from evenpack.layouts.layout_checks import (
    HEAD_TAIL_LAYOUTS,
    require_layout,
    require_sharding,
)
from evenpack.layouts.next_token_labels import Integers
from evenpack.layouts.padded_sequence import TokenColumns, padded_sequence
from evenpack.layouts.te_thd import te_thd_indices


class PackedSeqParamsArguments(TypedDict):
    """Arguments of megatron.core.packed_seq_params.PackedSeqParams, as arrays."""

    qkv_format: Literal["thd"]
    cu_seqlens_q: NDArray[np.int32]
    cu_seqlens_kv: NDArray[np.int32]
    cu_seqlens_q_padded: NDArray[np.int32]
    cu_seqlens_kv_padded: NDArray[np.int32]
    max_seqlen_q: int
    max_seqlen_kv: int


@dataclass(frozen=True, eq=False)
class MegatronThdBatch(TokenColumns):
    """A micro-batch, or a context-parallel rank's part of it.

    The columns are [T], or [T / CP] for a rank's part; Megatron's models take them as
    [1, T]. The rest is always that of the whole micro-batch: attention divides it
    itself.

    Attributes:
        cu_seqlens: int32, [documents + 1]: where documents begin without padding.
        cu_seqlens_padded: int32, [documents + 1]: the same with padding.
        max_seqlen: tokens of the longest document, with padding.
    """

    cu_seqlens: NDArray[np.int32]
    cu_seqlens_padded: NDArray[np.int32]
    max_seqlen: int

    def packed_seq_params(self) -> PackedSeqParamsArguments:
        """The arguments of Megatron's PackedSeqParams.

        It wants tensors: `PackedSeqParams(**torch_tensors(batch.packed_seq_params()))`.
        """
        return {
            "qkv_format": "thd",
            "cu_seqlens_q": self.cu_seqlens,
            "cu_seqlens_kv": self.cu_seqlens,
            "cu_seqlens_q_padded": self.cu_seqlens_padded,
            "cu_seqlens_kv_padded": self.cu_seqlens_padded,
            "max_seqlen_q": self.max_seqlen,
            "max_seqlen_kv": self.max_seqlen,
        }

    def for_stage(
        self, *, first: bool, last: bool
    ) -> dict[str, NDArray[np.generic] | int]:
        """What a pipeline stage needs, by name.

        Args:
            first: whether it is the first stage, which needs tokens and positions.
            last: whether it is the last, which needs labels and the loss mask.
        """
        needed: dict[str, NDArray[np.generic] | int] = {
            "cu_seqlens": self.cu_seqlens,
            "cu_seqlens_padded": self.cu_seqlens_padded,
            "max_seqlen": self.max_seqlen,
        }
        if first:
            needed |= {"tokens": self.tokens, "position_ids": self.position_ids}
        if last:
            needed |= {"labels": self.labels, "loss_mask": self.loss_mask}
        return needed


def megatron_thd_batch(
    micro_batch: MicroBatch,
    tokens: Integers,
    *,
    cp_rank: int | None = None,
    counted: NDArray[np.bool_] | None = None,
    following: Integers | None = None,
    pad_token: int = 0,
) -> MegatronThdBatch:
    """The micro-batch, or a rank's part of it, as Megatron-Core takes it.

    Args:
        micro_batch: of a job with layout megatron_thd, te_thd or pytorch_cp and
            sharding per_document, or any with context_parallel 1.
        tokens: of the unpadded sequence, as for `padded_sequence`.
        cp_rank: whose part: of each document chunk r, then chunk 2 * CP - 1 - r, as
            Megatron cuts it and TransformerEngine computes it. None: all of it, for
            trainers that cut it themselves.
        counted: as for `padded_sequence`.
        following: as for `padded_sequence`.
        pad_token: as for `padded_sequence`.

    Raises:
        InvalidArgumentError: another layout or sharding, no such rank, or as
            `padded_sequence`.
    """
    require_layout(micro_batch, HEAD_TAIL_LAYOUTS)
    require_sharding(micro_batch, "per_document")
    columns = padded_sequence(
        micro_batch, tokens, counted=counted, following=following, pad_token=pad_token
    )
    if cp_rank is not None:
        columns = columns.take(te_thd_indices(micro_batch, cp_rank))
    return MegatronThdBatch(
        columns.tokens,
        columns.position_ids,
        columns.labels,
        columns.loss_mask,
        cu_seqlens=micro_batch.cu_seqlens,
        cu_seqlens_padded=micro_batch.cu_seqlens_padded,
        max_seqlen=micro_batch.max_seqlen_padded,
    )
