"""Workers whose passes the native module runs, on the processor or a device."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from evenpack._native import MicroBatch
from evenpack.attention_workers.attention_form import AttentionForm
from evenpack.attention_workers.native_worker import _worker
from evenpack.attention_workers.prepared_micro_batches import PreparedMicroBatches
from evenpack.attention_workers.worker import AttentionWorker, ForwardPass
from evenpack.attention_workers.worker_device import device_of


def _arrays(*tensors: Tensor) -> list[Tensor]:
    # What requires a gradient is not handed over as it is.
    return [tensor.detach() for tensor in tensors]


class NativePasses(AttentionWorker):
    """Of a native worker; how its steps begin and end is left to subclasses.

    Passes of several threads are one at a time, in any order.
    """

    def __init__(
        self,
        native: _worker.Alone | _worker.InProcess,
        form: _worker.Form,
        cp_rank: int,
        cp_size: int,
    ) -> None:
        """Of a rank, and what it computes with."""
        super().__init__(cp_rank, cp_size, device_of(form))
        self._executor = native
        self._prepared = PreparedMicroBatches(cp_rank, keys_together=form.keys_together)
        self._preparing = threading.Lock()

    def begin_step(self, _: int) -> None:
        """No micro-batch of the step before comes again."""
        with self._preparing:
            self._prepared.clear()

    def prepare(self, micro_batch: MicroBatch, form: AttentionForm) -> _worker.Prepared:
        """What a pass needs of its micro-batch; errors as PreparedMicroBatches."""
        with self._preparing:
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
        log_sum_exp = torch.empty(
            query.shape[:2], dtype=torch.float32, device=query.device
        )
        tensors = (query, key, value, output, log_sum_exp)
        self._executor.forward(prepared, *_arrays(*tensors), stream=self._stream())
        return ForwardPass(output, tensors, prepared)

    def run_backward(
        self, state: object, saved: Sequence[Tensor], gradient: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """As AttentionWorker."""
        query, key, value = (torch.empty_like(tensor) for tensor in saved[:3])
        self._executor.backward(
            cast(_worker.Prepared, state),
            *_arrays(*saved, gradient, query, key, value),
            stream=self._stream(),
        )
        return query, key, value

    def _stream(self) -> int:
        # That in which PyTorch makes the tensors, and goes on with the results.
        if self.device.type == "cpu":
            return 0
        return torch.cuda.current_stream(self.device).cuda_stream
