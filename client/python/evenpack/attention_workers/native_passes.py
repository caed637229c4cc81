"""Passes of the native module over tensors of this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from evenpack._native import MicroBatch
from evenpack.attention_workers.attention_form import AttentionForm
from evenpack.attention_workers.native_worker import _worker
from evenpack.attention_workers.prepared_micro_batches import PreparedMicroBatches
from evenpack.attention_workers.worker import ForwardPass


def _arrays(*tensors: Tensor) -> list[Tensor]:
    # What requires a gradient is not handed over as it is.
    return [tensor.detach() for tensor in tensors]


class NativePasses:
    """Of a native worker, for the micro-batches of one rank."""

    def __init__(
        self, native: _worker.Alone | _worker.InProcess, cp_rank: int, cp_size: int
    ) -> None:
        """Of a rank."""
        self._native = native
        self.prepared = PreparedMicroBatches(cp_rank, cp_size)

    def forward(
        self,
        micro_batch: MicroBatch,
        form: AttentionForm,
        query: Tensor,
        key: Tensor,
        value: Tensor,
    ) -> ForwardPass:
        """As AttentionWorker.forward."""
        prepared = self.prepared.of(micro_batch, form)
        output = torch.empty_like(query)
        log_sum_exp = torch.empty(query.shape[:2], dtype=torch.float32)
        tensors = (query, key, value, output, log_sum_exp)
        self._native.forward(prepared, *_arrays(*tensors))
        return ForwardPass(output, tensors, prepared)

    def backward(
        self, state: object, saved: Sequence[Tensor], gradient: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """As AttentionWorker.backward."""
        query, key, value = (torch.empty_like(tensor) for tensor in saved[:3])
        self._native.backward(
            cast(_worker.Prepared, state),
            *_arrays(*saved, gradient, query, key, value),
        )
        return query, key, value
