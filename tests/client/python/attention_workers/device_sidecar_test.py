"""Ranks whose sidecars compute on a device, over doubles of its driver and libraries.

The trainer maps the sidecars' memory and orders its stream as on a device; PyTorch,
which knows no double, is given the memory as the processor's.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from tempfile import TemporaryDirectory
from typing import Any

import example_attention
import pytest
import torch
from child_process import ChildProcess
from evenpack.attention_workers import AttentionForm, SidecarWorker, sidecar
from evenpack.errors import FailedPreconditionError, InvalidArgumentError
from evenpack.sharded_attention import attention
from fake_device import DRIVER, SIDECAR_ON_DOUBLES, FakeDeviceMemory
from server_process import ServerProcess
from worker_service_process import WorkerServiceProcess

FORM = AttentionForm(torch.bfloat16, query_heads=4, kv_heads=2, head_size=64)
RANKS = 2


@pytest.fixture(autouse=True)
def _double(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENPACK_CUDA_DRIVER", DRIVER)
    monkeypatch.setattr(sidecar, "DeviceArenaMemory", FakeDeviceMemory)


@pytest.fixture
def folders(served: ServerProcess) -> Iterator[list[str]]:
    """Of a sidecar for each rank."""
    with ExitStack() as stack:
        made = [stack.enter_context(TemporaryDirectory()) for _ in range(RANKS)]
        process = stack.enter_context(
            ChildProcess([SIDECAR_ON_DOUBLES, served.grpc_address, *made])
        )
        assert process.next_line() == "serving", process.stderr()
        yield made


def open_worker(folder: str, rank: int = 0, **changes: object) -> SidecarWorker:
    """A session of a rank."""
    options: dict[str, Any] = {"form": FORM, "arena_bytes": 64 << 20, "device": "cuda"}
    return SidecarWorker(
        folder, job="run", dp_rank=0, cp_rank=rank, **(options | changes)
    )


def test_a_job_is_executed_whole(served: ServerProcess, folders: list[str]) -> None:
    """In memory that both processes map, and nothing of the driver is misused."""

    def rank(index: int) -> int:
        with (
            open_worker(folders[index], index) as worker,
            example_attention.dataset_of(served, index) as steps,
        ):
            executed = sum(
                example_attention.execute(worker, step, "sidecar", dtype=FORM.dtype)
                for step in steps
            )
            memory = worker._memory
            assert isinstance(memory, FakeDeviceMemory)
            assert memory.fake.misuse() == ""
            return executed

    with ThreadPoolExecutor(RANKS) as pool:
        executed = list(pool.map(rank, range(RANKS)))
    assert executed[0] == executed[1] > 3


def test_passes_come_in_the_streams_order_and_are_not_waited_for(
    served: ServerProcess, folders: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their inputs are there only when the stream is let go."""
    monkeypatch.setattr(
        sidecar,
        "DeviceArenaMemory",
        lambda number: FakeDeviceMemory(number, waits=False),
    )
    all_given = threading.Barrier(RANKS)

    def rank(index: int) -> None:
        with (
            open_worker(folders[index], index) as worker,
            example_attention.dataset_of(served, index) as steps,
        ):
            (micro_batch, *_) = step = next(iter(steps))
            memory = worker._memory
            assert isinstance(memory, FakeDeviceMemory)
            layer = example_attention.Layer(micro_batch, index, dtype=FORM.dtype)
            inputs = [tensor.detach() for tensor in layer.inputs]
            late = [torch.full_like(tensor, float("nan")) for tensor in inputs]
            let_go = threading.Event()
            with next(worker.attempts(step.index)):
                memory.fake.put(let_go.wait)
                done = worker.forward(micro_batch, FORM, *late)
                gradients = worker.backward(
                    done.state, done.saved, layer.output_gradient
                )
                all_given.wait()
                for in_arena, tensor in zip(done.saved[:3], inputs, strict=True):
                    in_arena.copy_(tensor)
                let_go.set()
                memory.fake.synchronize()
                for leaf, gradient in zip(layer.inputs, gradients, strict=True):
                    leaf.grad = gradient
                layer.check(done.output)

    with ThreadPoolExecutor(RANKS) as pool:
        list(pool.map(rank, range(RANKS)))


def test_what_a_pass_fails_with_its_step_ends_with(
    served: ServerProcess, folders: list[str]
) -> None:
    """The first of them."""
    # One that fails leaves, and a group of two would wait for it.
    begun = threading.Barrier(RANKS, timeout=60)

    def rank(index: int) -> None:
        with (
            open_worker(folders[index], index) as worker,
            example_attention.dataset_of(served, index) as steps,
        ):
            (micro_batch, *_) = step = next(iter(steps))
            rows = int(micro_batch.rank_tokens[index]) + 1
            query, key = (torch.zeros(rows, n, 64, dtype=FORM.dtype) for n in (4, 2))
            with (
                pytest.raises(InvalidArgumentError, match=f"rows: {rows}"),
                next(worker.attempts(step.index)),
            ):
                begun.wait()
                attention(query, key, key, micro_batch, "sidecar", worker=worker)

    with ThreadPoolExecutor(RANKS) as pool:
        list(pool.map(rank, range(RANKS)))


def test_another_place_than_the_workers_is_refused(
    served: ServerProcess, folders: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named with the one that is accepted, and the worker is left to the next."""
    (folder, _) = folders
    with pytest.raises(
        InvalidArgumentError, match=r"device: 'cuda:1'.* where the worker"
    ):
        open_worker(folder, device="cuda:1")
    with pytest.raises(InvalidArgumentError, match=r"device: 'meta'.* cuda:N"):
        open_worker(folder, device="meta")
    with pytest.raises(FailedPreconditionError, match=r"arena_kind: 0 .* accepted: 1"):
        open_worker(folder, device="cpu")
    with (
        WorkerServiceProcess(served.grpc_address) as process,
        pytest.raises(FailedPreconditionError, match=r"arena_kind: 1 .* accepted: 0"),
    ):
        open_worker(process.folder)
    with pytest.raises(InvalidArgumentError, match="float32"):
        open_worker(folder, form=AttentionForm(torch.float32, 4, 2, 64))
    open_worker(folder).close()
    monkeypatch.setenv("EVENPACK_CUDA_DRIVER", "/nowhere/libcuda.so.1")
    with pytest.raises(FailedPreconditionError, match="/nowhere/libcuda"):
        open_worker(folder)
