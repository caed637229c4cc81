"""evenpack.attention of CUDA tensors; skipped where there is no device.

docs/gpu-checks.md has it run where there is one.
"""

from __future__ import annotations

from typing import Any

import example_attention
import pytest
import torch
from evenpack.attention_workers import (
    AttentionForm,
    InProcessOptions,
    InProcessWorker,
    SidecarWorker,
)
from evenpack.errors import InvalidArgumentError
from evenpack.sharded_attention import attention
from server_process import ServerProcess
from torch_ranks import run_ranks
from worker_service_process import WorkerServiceProcess

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="no CUDA device is found"
)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    "form",
    [{}, {"query_heads": 8, "kv_heads": 1, "head_size": 128}, {"window": 17}],
    ids=str,
)
def test_output_and_gradients_are_those_of_the_definition(
    dtype: torch.dtype, form: dict[str, Any]
) -> None:
    """With padding, which is not read."""
    layout = {"consumer_layout": {"layout": "LAYOUT_MEGATRON_THD"}}
    for step in example_attention.steps(1, 2, **layout):
        for micro_batch in step:
            layer = example_attention.Layer(
                micro_batch, 0, device="cuda", dtype=dtype, **form
            )
            output = attention(
                *layer.inputs, micro_batch, sliding_window=form.get("window", 0)
            )
            output.backward(layer.output_gradient)
            layer.check(output)


def test_it_comes_between_what_pytorchs_stream_does() -> None:
    """Inputs that are still being made are waited for, as results are."""
    (micro_batch, *_) = example_attention.steps(1, 1)[0]
    layer = example_attention.Layer(micro_batch, 0, device="cuda", dtype=torch.bfloat16)
    expected = attention(*layer.inputs, micro_batch).detach().clone()
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.no_grad(), torch.cuda.stream(stream):
        for _ in range(20):
            query, key, value = late = [
                torch.full_like(each, float("nan")) for each in layer.inputs
            ]
            torch.cuda._sleep(20_000_000)
            for to, each in zip(late, layer.inputs, strict=True):
                to.copy_(each)
            output = attention(query, key, value, micro_batch)
            for each in late:
                each.fill_(float("nan"))
            assert torch.equal(output, expected)


def test_float32_is_refused() -> None:
    """By its name."""
    (micro_batch, *_) = example_attention.steps(1, 1)[0]
    layer = example_attention.Layer(micro_batch, 0, device="cuda")
    with pytest.raises(InvalidArgumentError, match="float32"):
        attention(*layer.inputs, micro_batch)


def _over_process_group(ranks: int) -> None:
    """The first rank ends before the others."""
    import torch.distributed as dist

    options = InProcessOptions(device=f"cuda:{dist.get_rank()}")
    group = dist.group.WORLD
    assert group is not None
    with InProcessWorker.over(group, options=options) as worker:
        for step in example_attention.steps(ranks, 2):
            for attempt in worker.attempts(step.index):
                with attempt:
                    for micro_batch in step:
                        layer = example_attention.Layer(
                            micro_batch,
                            worker.cp_rank,
                            device=worker.device,
                            dtype=torch.bfloat16,
                        )
                        output = attention(*layer.inputs, micro_batch, worker=worker)
                        output.backward(layer.output_gradient)
                        layer.check(output)
        if worker.cp_rank == 0:
            worker.close()
        dist.barrier()


@pytest.mark.parametrize("ranks", [1, 2])
def test_ranks_of_a_process_group_share_a_micro_batch(ranks: int) -> None:
    """A device each, over NCCL, which ends no rank of a host before all of them end."""
    if torch.cuda.device_count() < ranks:
        pytest.skip(f"{ranks} devices are needed")
    run_ranks(ranks, _over_process_group, ranks)


def test_a_sidecar_computes_in_memory_that_both_map(server: ServerProcess) -> None:
    """Alone, since two ranks of NCCL need a device each."""
    example_attention.create_job(server, context=1)
    with (
        WorkerServiceProcess(server.grpc_address, "--device", "cuda") as process,
        SidecarWorker(
            process.folder,
            job="run",
            dp_rank=0,
            cp_rank=0,
            form=AttentionForm(torch.bfloat16, 4, 2, 64),
            arena_bytes=64 << 20,
            device="cuda",
        ) as worker,
        example_attention.dataset_of(server, 0) as steps,
    ):
        assert worker.device.type == "cuda"
        for step in steps:
            example_attention.execute(worker, step, "sidecar", dtype=torch.bfloat16)
