"""Attention of whole micro-batches, by PyTorch in float64, and its parts by rank."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import example_jobs
import numpy as np
import torch
from evenpack import Client, MicroBatch, PackedDataset, ServerOptions, Step
from evenpack.attention_workers import AttentionWorker
from evenpack.sharded_attention import Backend, attention
from server_process import ServerProcess
from torch import Tensor

# Float32's as gpu_worker/selftest accepts it; of the others, whose inputs are rounded
# too, some more.
ACCEPTED = {torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 4e-3}


def job_spec(context: int) -> dict[str, object]:
    """Of one data-parallel rank with two micro-batches of a few hundred tokens."""
    return {
        "streams": [{"name": "text"}],
        "window": 256,
        "max_length": 384,
        "parallelism": {"micro_batches_per_rank": 2, "context": context},
        "policy": {"wlb": {"queue_thresholds": [128]}},
    }


def create_job(server: ServerProcess, context: int = 2) -> None:
    """The job "run" of so many context-parallel ranks and a few small steps."""
    client = Client(server.grpc_address)
    client.create_job("run", job_spec(context))
    example_jobs.feed(client, "run", example_jobs.lengths(40).clip(1, 256))


def dataset_of(server: ServerProcess, cp_rank: int) -> PackedDataset:
    """A rank's steps of that job."""
    options = ServerOptions(sends_durable=cp_rank == 0)
    return PackedDataset(
        server.grpc_address, job="run", cp_rank=cp_rank, options=options
    )


def steps(context: int, count: int, **changes: object) -> list[Step]:
    """Steps of two micro-batches of a few hundred tokens."""
    spec = job_spec(context)
    drawn = np.random.default_rng(3).lognormal(3.2, 1.0, 60 * count)
    lengths = np.clip(drawn, 1, 256).astype(np.uint32)
    dataset = PackedDataset(spec=spec | changes, lengths=lengths)
    found = [step for step, _ in zip(dataset, range(count), strict=False)]
    assert len(found) == count
    return found


@dataclass(frozen=True)
class Whole:
    """One layer's tensors of a micro-batch, a row for each token in sequence order."""

    query: Tensor
    key: Tensor
    value: Tensor
    output_gradient: Tensor
    output: Tensor
    query_gradient: Tensor
    key_gradient: Tensor
    value_gradient: Tensor


def _documents(
    micro_batch: MicroBatch, parts: list[Tensor], scale: float | None, window: int
) -> Tensor:
    """By its definition, document after document."""
    results = [parts[0][:0]]
    starts = micro_batch.cu_seqlens.tolist()
    for begin, end in pairwise(starts):
        query, key, value = (part[begin:end].transpose(0, 1) for part in parts)
        groups = query.shape[0] // key.shape[0]
        at = torch.arange(end - begin)
        seen = at[:, None] >= at
        if window:
            seen &= at[:, None] < at + window
        result = torch.nn.functional.scaled_dot_product_attention(
            query,
            key.repeat_interleave(groups, 0),
            value.repeat_interleave(groups, 0),
            attn_mask=seen,
            scale=scale,
        )
        results.append(result.transpose(0, 1))
    return torch.cat(results)


def whole(
    micro_batch: MicroBatch,
    *,
    query_heads: int = 4,
    kv_heads: int = 2,
    head_size: int = 64,
    scale: float | None = None,
    window: int = 0,
) -> Whole:
    """Random, the same on every rank, with the results of float64."""
    generator = torch.Generator().manual_seed(micro_batch.index)
    heads = (query_heads, kv_heads, kv_heads, query_heads)
    given = [
        torch.randn(micro_batch.tokens, each, head_size, generator=generator)
        for each in heads
    ]
    exact = [tensor.double().requires_grad_() for tensor in given[:3]]
    output = _documents(micro_batch, exact, scale, window)
    gradients = torch.autograd.grad(
        output, exact, given[3].double(), materialize_grads=True
    )
    results = [output.detach(), *gradients]
    return Whole(*given, *(result.float() for result in results))


def of_rank(
    rows: Tensor, micro_batch: MicroBatch, rank: int, padding: float = float("nan")
) -> Tensor:
    """A rank's part, behind it its padding."""
    own = rows[torch.from_numpy(micro_batch.slices(rank).token_indices).long()]
    pad = int(micro_batch.rank_padding[rank])
    return torch.cat([own, torch.full((pad, *rows.shape[1:]), padding)])


def difference(found: Tensor, expected: Tensor) -> float:
    """The largest, relative to the largest number expected."""
    if expected.numel() == 0:
        return 0.0
    off = (found.detach() - expected).abs().max()
    return float(off / expected.abs().max().clamp(min=1e-6))


def same(tensor: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """As query, key and value."""
    return tensor, tensor, tensor


class Layer:
    """A rank's tensors of one micro-batch, and what must come of them."""

    def __init__(
        self,
        micro_batch: MicroBatch,
        rank: int,
        *,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        **form: object,
    ) -> None:
        """Inputs whose padding must not be read."""
        self.micro_batch = micro_batch
        self._whole = whole(micro_batch, **form)  # type: ignore[arg-type]
        self._rank = rank
        self._accepted = ACCEPTED[dtype]
        given = self._whole
        query, key, value, self.output_gradient = (
            of_rank(rows, micro_batch, rank).to(device, dtype)
            for rows in (given.query, given.key, given.value, given.output_gradient)
        )
        self.inputs = (
            query.requires_grad_(),
            key.requires_grad_(),
            value.requires_grad_(),
        )

    def check(self, output: Tensor) -> None:
        """After a backward pass."""
        names = ("output", "query_gradient", "key_gradient", "value_gradient")
        for name, found in zip(
            names, [output, *(each.grad for each in self.inputs)], strict=True
        ):
            expected = of_rank(
                getattr(self._whole, name), self.micro_batch, self._rank, padding=0.0
            )
            assert found is not None and found.shape == expected.shape
            assert difference(found.cpu().float(), expected) <= self._accepted, name


def execute(
    worker: AttentionWorker,
    step: Step,
    backend: Backend = "inprocess",
    layers: int = 2,
    dtype: torch.dtype = torch.float32,
) -> int:
    """All layers of a step, right; how many attempts it took."""
    attempts = 0
    for attempt in worker.attempts(step.index):
        attempts += 1
        with attempt:
            for micro_batch in step:
                for _ in range(layers):
                    layer = Layer(
                        micro_batch, worker.cp_rank, device=worker.device, dtype=dtype
                    )
                    output = attention(
                        *layer.inputs, micro_batch, backend, worker=worker
                    )
                    output.backward(layer.output_gradient)
                    layer.check(output)
    return attempts
