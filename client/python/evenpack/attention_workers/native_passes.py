"""Workers whose passes the native module runs over tensors of this process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from evenpack._native import MicroBatch
from evenpack.attention_workers.attention_form import AttentionForm
from evenpack.attention_workers.native_worker import _worker
from evenpack.attention_workers.prepared_micro_batches import PreparedMicroBatches
from evenpack.attention_workers.worker import AttentionWorker, ForwardPass


def _arrays(*tensors: Tensor) -> list[Tensor]:
    # What requires a gradient is not handed over as it is.
    return [tensor.detach() for tensor in tensors]


class NativePasses(AttentionWorker):
    """Of a native worker; how its steps begin and end is left to subclasses."""

    def __init__(
        self, native: _worker.Alone | _worker.InProcess, cp_rank: int, cp_size: int
    ) -> None:
        """Of a rank."""
        super().__init__(cp_rank, cp_size)
        self._executor = native
        self._prepared = PreparedMicroBatches(cp_rank, cp_size)

    def begin_step(self, _: int) -> None:
        """No micro-batch of the step before comes again."""
        self._prepared.clear()

    def prepare(self, micro_batch: MicroBatch, form: AttentionForm) -> _worker.Prepared:
        """What a pass needs of its micro-batch; errors as PreparedMicroBatches."""
        return self._prepared.of(micro_batch, form)

    def run_forward(
        self,
        micro_batch: MicroBatch,
        form: AttentionForm,
        query: Tensor,
        key: Tensor,
        value: Tensor,
    ) -> ForwardPass:
        """As AttentionWorker."""
        prepared = self.prepare(micro_batch, form)
        output = torch.empty_like(query)
        log_sum_exp = torch.empty(query.shape[:2], dtype=torch.float32)
        tensors = (query, key, value, output, log_sum_exp)
        self._executor.forward(prepared, *_arrays(*tensors))
        return ForwardPass(output, tensors, prepared)

    def run_backward(
        self, state: object, saved: Sequence[Tensor], gradient: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """As AttentionWorker."""
        query, key, value = (torch.empty_like(tensor) for tensor in saved[:3])
        self._executor.backward(
            cast(_worker.Prepared, state),
            *_arrays(*saved, gradient, query, key, value),
        )
        return query, key, value
