"""Attention over a micro-batch's documents and its context-parallel group."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, Literal

import torch
from torch import Tensor

from evenpack._native import MicroBatch
from evenpack.attention_workers import AttentionWorker, InProcessWorker, SidecarWorker
from evenpack.attention_workers.alone import lone_worker
from evenpack.attention_workers.attention_form import AttentionForm
from evenpack.attention_workers.plain_tensor import check_plain
from evenpack.errors import FailedPreconditionError, UnimplementedError
from evenpack.invalid_argument import (
    check_class,
    checked_uint32,
    invalid_argument,
    quoted,
)

# As kDeviceAlignment in gpu_worker/rank_form/rank_form.h.
_ALIGNMENT = 16
Backend = Literal["inprocess", "sidecar"]
_WORKERS: dict[str, type[AttentionWorker]] = {
    "inprocess": InProcessWorker,
    "sidecar": SidecarWorker,
}


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any,  # noqa: ANN401 - with whatever attributes it is given
        query: Tensor,
        key: Tensor,
        value: Tensor,
        micro_batch: MicroBatch,
        form: AttentionForm,
        worker: AttentionWorker,
    ) -> Tensor:
        done = worker.forward(micro_batch, form, query, key, value)
        context.save_for_backward(*done.saved)
        context.state = done.state
        context.worker = worker
        return done.output

    @staticmethod
    def backward(
        context: Any,  # noqa: ANN401
        gradient: Tensor,
    ) -> tuple[Tensor | None, ...]:
        # Else second derivatives would silently be without what comes through here.
        if torch.is_grad_enabled():
            raise UnimplementedError(
                "attention has no second derivatives; accepted: backward() and grad() "
                "with create_graph=False"
            )
        check_plain("gradient", gradient)
        # Hooks may have given others than were saved.
        saved = [_laid_out(tensor) for tensor in context.saved_tensors]
        gradients = context.worker.backward(context.state, saved, _laid_out(gradient))
        return (*gradients, None, None, None)


def _laid_out(tensor: Tensor) -> Tensor:
    """Row after row, where the kernels of a device can read it."""
    # A view may negate what lies in memory.
    tensor = tensor.resolve_neg().contiguous()
    return tensor if tensor.data_ptr() % _ALIGNMENT == 0 else tensor.clone()


def _scale_of(scale: float | None) -> float:
    """As AttentionForm has it, in float32."""
    if scale is None:
        return 0.0
    accepted = "a positive number of float32, or None for 1 / sqrt(head_size)"
    if isinstance(scale, Tensor) and scale.requires_grad:
        # It would get no gradient.
        accepted += "; one that is learned is multiplied with query"
        raise invalid_argument("scale", "a tensor that requires a gradient", accepted)
    number = math.nan
    if not isinstance(scale, str | bytes):
        # Of what is no number, NumPy and PyTorch raise one each; an int may be too
        # large.
        with suppress(TypeError, ValueError, RuntimeError, OverflowError):
            number = float(scale)
    held = torch.finfo(torch.float32)
    if not held.tiny <= number <= held.max:
        raise invalid_argument("scale", quoted(scale), accepted)
    return number


def _worker_for(
    micro_batch: MicroBatch,
    backend: str,
    worker: AttentionWorker | None,
    device: torch.device,
) -> AttentionWorker:
    kind = _WORKERS.get(backend) if isinstance(backend, str) else None
    if kind is None:
        accepted = " or ".join(quoted(name) for name in _WORKERS)
        raise invalid_argument("backend", quoted(backend), accepted)
    if isinstance(worker, kind):
        if device != worker.device:
            where = f"on {worker.device}, where the worker computes"
            raise invalid_argument("query", f"on {device}", where)
        return worker
    if worker is not None:
        raise invalid_argument("worker", type(worker).__name__, kind.__name__)
    if backend == "inprocess" and micro_batch.context_parallel == 1:
        return lone_worker(device)
    raise FailedPreconditionError(
        f"worker: None is not accepted for a group of {micro_batch.context_parallel} "
        f"under backend {quoted(backend)}; accepted: {kind.__name__}"
    )


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    plan: MicroBatch,
    backend: Backend = "inprocess",
    *,
    worker: AttentionWorker | None = None,
    scale: float | None = None,
    sliding_window: int = 0,
) -> Tensor:
    """Causal attention of a rank's tokens to their documents' keys, differentiable.

    Rows are the tokens that the rank holds of the micro-batch in local order, then its
    padding: plan.rank_tokens[r] + plan.rank_padding[r] of them. Padding is not read;
    its rows of the result, and of gradients, are 0. Keys and values travel to the ranks
    whose queries see them; their gradients are summed over ranks in float32.

    Args:
        query: [rows, query_heads, head_size]; float32 (on the processor), bfloat16 or
            float16; head_size 64, 128, 192 or 256. On the processor or on a CUDA
            device, as key and value, and as the worker.
        key: [rows, kv_heads, head_size]; query_heads is a multiple of kv_heads.
        value: like key.
        plan: the micro-batch, of a step of the dataset.
        backend: "inprocess", or "sidecar" for an evenpack-worker beside the trainer.
        worker: the rank's, of that kind, within an attempt at the step. A micro-batch
            that is not cut needs none in the process; threads take turns then.
        scale: what scores are multiplied by, above 0; None: 1 / sqrt(head_size).
        sliding_window: a query sees itself and the sliding_window - 1 tokens before it;
            0: all before it.

    Returns:
        [rows, query_heads, head_size], of the type of query.

    Raises:
        InvalidArgumentError: tensors that don't fit each other, the plan or the worker,
            or have no memory of their own, as a DTensor; float32 on CUDA; an argument
            that can't be.
        AbortedError: a peer was lost; the attempt that this is in deals with it.
        FailedPreconditionError: no step has begun, or the group is of another size.
        UnimplementedError: tensors of another kind of device; in backward, second
            derivatives (create_graph=True).
    """
    check_class("plan", plan, MicroBatch, "a MicroBatch, one of a step's")
    window = checked_uint32("sliding_window", sliding_window)
    form = AttentionForm.of(query, key, value, _scale_of(scale), window)
    by = _worker_for(plan, backend, worker, query.device)
    result: Tensor = _Attention.apply(
        _laid_out(query), _laid_out(key), _laid_out(value), plan, form, by
    )
    return result
