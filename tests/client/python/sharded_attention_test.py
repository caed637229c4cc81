"""evenpack.attention against PyTorch's own, and what it refuses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from concurrent import futures
from typing import Any

import evenpack
import example_attention
import numpy as np
import pytest
import torch
from evenpack import MicroBatch
from evenpack.attention_workers import InProcessWorker
from evenpack.attention_workers.alone import LoneWorker
from evenpack.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    UnimplementedError,
)
from evenpack.sharded_attention import attention
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"query_heads": 3, "kv_heads": 3},
        {"query_heads": 8, "kv_heads": 1, "head_size": 128},
        {"scale": 0.3},
        {"window": 17},
    ],
    ids=str,
)
@pytest.mark.parametrize("layout", ["LAYOUT_NATIVE", "LAYOUT_MEGATRON_THD"])
def test_output_and_gradients_are_those_of_the_definition(
    form: dict[str, Any], layout: str
) -> None:
    """Padding or none; numbers of padding are not read."""
    changes = {"consumer_layout": {"layout": layout}}
    for step in example_attention.steps(1, 2, **changes):
        for micro_batch in step:
            layer = example_attention.Layer(micro_batch, 0, **form)
            output = attention(
                *layer.inputs,
                micro_batch,
                scale=form.get("scale"),
                sliding_window=form.get("window", 0),
            )
            output.backward(layer.output_gradient)
            layer.check(output)


@pytest.mark.parametrize(
    ("dtype", "accepted"), [(torch.bfloat16, 2e-2), (torch.float16, 2e-3)]
)
def test_half_precision_keeps_its_type(dtype: torch.dtype, accepted: float) -> None:
    """And rounds no more than that."""
    (micro_batch, *_) = example_attention.steps(1, 1)[0]
    layer = example_attention.Layer(micro_batch, 0)
    query, key, value = (each.detach().to(dtype) for each in layer.inputs)
    found = attention(query, key, value, micro_batch)
    assert found.dtype == dtype
    exact = attention(*layer.inputs, micro_batch)
    assert example_attention.difference(found.float(), exact.detach()) <= accepted


def test_it_is_a_part_of_a_larger_graph() -> None:
    """Of tensors that are no leaves and do not lie row after row; twice over."""
    (micro_batch, *_) = example_attention.steps(1, 1)[0]
    torch.manual_seed(1)
    hidden = torch.randn(micro_batch.tokens, 32)
    mix = torch.nn.Linear(32, 3 * 2 * 64)

    def loss() -> Tensor:
        query, key, value = mix(hidden).view(-1, 2, 3 * 64).chunk(3, dim=-1)
        assert not query.is_contiguous()
        return attention(query, key, value, micro_batch).square().sum()

    first = loss()
    first.backward(retain_graph=True)
    assert mix.weight.grad is not None
    gradient = mix.weight.grad.clone()
    first.backward()
    torch.testing.assert_close(mix.weight.grad, 2 * gradient)
    with torch.no_grad():
        moved = gradient / gradient.norm() * 1e-3
        mix.weight += moved
        # By the gradient's own length, to first order.
        grown = float(loss() - first)
    assert grown == pytest.approx(float((gradient * moved).sum()), rel=0.05)


def test_tensors_at_odd_places_are_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device's kernels fail there, and with them all that comes after."""
    (micro_batch, *_) = example_attention.steps(1, 1)[0]
    layer = example_attention.Layer(micro_batch, 0)
    held = [each.detach() for each in layer.inputs]
    moved = [torch.empty(each.numel() + 1)[1:].view(each.shape) for each in held]
    for of, each in zip(moved, held, strict=True):
        of.copy_(each)
        assert of.data_ptr() % 16 != 0
    given: list[Tensor] = []
    compute = LoneWorker.forward

    def forward(by: LoneWorker, *arguments: Any) -> Any:  # noqa: ANN401 - as they come
        given.extend(each for each in arguments if isinstance(each, Tensor))
        return compute(by, *arguments)

    monkeypatch.setattr(LoneWorker, "forward", forward)
    found = attention(moved[0], moved[1], moved[2], micro_batch)
    assert [each.data_ptr() % 16 for each in given] == [0, 0, 0]
    assert torch.equal(found, attention(held[0], held[1], held[2], micro_batch))


def _layer(micro_batch: MicroBatch) -> list[Tensor]:
    """Output and gradients; of float32 always the same."""
    layer = example_attention.Layer(micro_batch, 0)
    output = attention(*layer.inputs, micro_batch)
    gradients = torch.autograd.grad(output, layer.inputs, layer.output_gradient)
    return [output.detach(), *gradients]


def test_threads_get_what_one_gets() -> None:
    """All of them have the process's own worker."""
    micro_batches = [each for step in example_attention.steps(1, 3) for each in step]
    expected = [_layer(micro_batch) for micro_batch in micro_batches]
    started = threading.Barrier(4)

    def right(first: int) -> int:
        started.wait()
        count = 0
        for number in range(60):
            at = (first + number) % len(micro_batches)
            found = _layer(micro_batches[at])
            count += all(map(torch.equal, found, expected[at]))
        return count

    with futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(right, range(4))) == [60] * 4


# The child's end is that of a program that doesn't know of the attention.
FORKS = """
import os, signal, sys
import torch
import example_attention
from evenpack.errors import FailedPreconditionError
from evenpack.sharded_attention import attention

(micro_batch, *_) = example_attention.steps(1, 1)[0]
layer = example_attention.Layer(micro_batch, 0)
computes = "computes" in sys.argv
with torch.set_grad_enabled(computes):
    output = attention(*layer.inputs, micro_batch)
child = os.fork()
if child == 0:
    signal.alarm(60)
    if computes:
        try:
            output.backward(layer.output_gradient)
        except FailedPreconditionError as error:
            print(error.message, flush=True)
        # PyTorch would wait for those of its own that computed before.
        torch.set_num_threads(1)
        own = example_attention.Layer(micro_batch, 0)
        again = attention(*own.inputs, micro_batch)
        again.backward(own.output_gradient)
        own.check(again)
    sys.exit(0)
print("child:", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
if computes:
    output.backward(layer.output_gradient)
    layer.check(output)
"""


@pytest.mark.parametrize("does", ["nothing", "computes"])
def test_a_fork_computes_by_itself_and_ends(does: str) -> None:
    """It has none of its parent's threads to compute by, or to wait for."""
    paths = {"PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, "-c", FORKS, does],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | paths,
    )
    assert (run.returncode, run.stderr) == (0, "")
    said = run.stdout.splitlines()
    assert said.pop() == "child: 0"
    refused = "the attention is of the process that this one was forked from"
    assert said == ([refused] if does == "computes" else [])


def test_the_package_has_it_by_name() -> None:
    """And says so of what it doesn't have."""
    assert evenpack.attention is attention
    with pytest.raises(AttributeError, match="no attribute 'attend'"):
        _ = evenpack.attend


def _tensor(
    *shape: int, dtype: torch.dtype = torch.float32, device: str = "cpu"
) -> Tensor:
    return torch.zeros(*shape, dtype=dtype, device=device)


@pytest.mark.parametrize(
    ("query", "key", "value", "message"),
    [
        ((7, 64), (7, 1, 64), (7, 1, 64), r"query: \[7, 64\]"),
        ((7, 2, 64), (7, 1, 128), (7, 1, 128), r"key: \[7, 1, 128\]"),
        ((7, 2, 64), (6, 1, 64), (6, 1, 64), r"key: \[6, 1, 64\]"),
        ((7, 2, 64), (7, 2, 64), (7, 1, 64), r"value: \[7, 1, 64\]"),
        ((7, 3, 64), (7, 2, 64), (7, 2, 64), "kv_heads: 2 .*query_heads, 3"),
        ((7, 2, 65), (7, 2, 65), (7, 2, 65), "head_size: 65"),
        ((7, 2, 64), (7, 2, 64), (7, 2, 64), r"query: \[7, 2, 64\] of 32 bits"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(
    query: tuple[int, ...], key: tuple[int, ...], value: tuple[int, ...], message: str
) -> None:
    """The message names the tensor, its form and what would do."""
    (micro_batch, *_) = example_attention.steps(1, 1)[0]
    tensors = (_tensor(*query), _tensor(*key), _tensor(*value))
    with pytest.raises(InvalidArgumentError, match=message):
        attention(*tensors, micro_batch)


def test_other_types_and_devices_are_refused() -> None:
    """Rather than converted."""
    (micro_batch, *_) = example_attention.steps(1, 1)[0]
    shape = (micro_batch.tokens, 2, 64)
    given = _tensor(*shape)
    with pytest.raises(InvalidArgumentError, match=r"dtype: torch.float64"):
        attention(
            *example_attention.same(_tensor(*shape, dtype=torch.float64)), micro_batch
        )
    with pytest.raises(InvalidArgumentError, match=r"key: torch.bfloat16"):
        attention(given, _tensor(*shape, dtype=torch.bfloat16), given, micro_batch)
    with pytest.raises(UnimplementedError, match="query: a tensor on meta"):
        attention(*example_attention.same(_tensor(*shape, device="meta")), micro_batch)


def test_tensors_without_memory_of_their_own_are_refused() -> None:
    """Or kernels would read at address 0."""
    (micro_batch, *_) = example_attention.steps(1, 1)[0]
    shape = (micro_batch.tokens, 2, 64)
    given = _tensor(*shape)
    with FakeTensorMode():
        fake = torch.empty(*shape)
    for name in ("query", "key", "value"):
        tensors: dict[str, Any] = dict.fromkeys(("query", "key", "value"), given)
        with pytest.raises(InvalidArgumentError, match=f"^{name}: a FakeTensor is not"):
            attention(**tensors | {name: fake}, plan=micro_batch)
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with mode, pytest.raises(InvalidArgumentError, match="query: a tensor without"):
        attention(given, given, given, micro_batch)
    given.requires_grad_()
    output = attention(given, given, given, micro_batch)
    with pytest.raises(InvalidArgumentError, match="gradient: a tensor of zeros"):
        output.backward(torch._efficientzerotensor(shape))


def test_a_view_that_negates_is_read_as_what_it_is() -> None:
    """Memory has the other sign."""
    (micro_batch, *_) = example_attention.steps(1, 1)[0]
    query, key, value = (
        each.detach() for each in example_attention.Layer(micro_batch, 0).inputs
    )
    expected = attention(query, key, -value, micro_batch)
    found = attention(query, key, torch._neg_view(value), micro_batch)
    assert torch.equal(found, expected)


def test_second_derivatives_are_refused() -> None:
    """Also where the loss is linear: they would be taken for 0."""
    (micro_batch, *_) = example_attention.steps(1, 1)[0]
    layer = example_attention.Layer(micro_batch, 0)
    output = attention(*layer.inputs, micro_batch)
    with pytest.raises(UnimplementedError, match=r"accepted: .*create_graph=False"):
        torch.autograd.grad(output.sum(), layer.inputs, create_graph=True)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("plan", None, "plan: None is .* a MicroBatch"),
        ("plan", 3, "plan: int is .* a MicroBatch"),
        ("query", None, "query: None is .* a torch.Tensor"),
        ("query", [1], "query: list is .* a torch.Tensor"),
        ("key", np.zeros((3, 2, 64)), "key: ndarray is .* a torch.Tensor"),
        ("sliding_window", [1], r"sliding_window: \[1\] is .* 0 to 4294967295"),
        ("sliding_window", None, "sliding_window: None is"),
        ("sliding_window", -1, "sliding_window: -1 is"),
        ("backend", [1], r"backend: \[1\] is .*'inprocess'"),
    ],
)
def test_arguments_of_another_kind_are_refused_by_name(
    field: str, value: object, message: str
) -> None:
    """With what would do."""
    (micro_batch, *_) = example_attention.steps(1, 1)[0]
    query, key, value_ = example_attention.same(_tensor(micro_batch.tokens, 2, 64))
    given: dict[str, Any] = {
        "query": query,
        "key": key,
        "value": value_,
        "plan": micro_batch,
    }
    with pytest.raises(InvalidArgumentError, match=f"^{message}"):
        attention(**given | {field: value})


def test_a_learned_scale_is_refused() -> None:
    """It would get no gradient; one that is not learned is a number."""
    (micro_batch, *_) = example_attention.steps(1, 1)[0]
    given = example_attention.same(_tensor(micro_batch.tokens, 2, 64))
    learned = torch.nn.Parameter(torch.tensor(0.5))
    with pytest.raises(InvalidArgumentError, match=r"^scale: .* multiplied with query"):
        attention(*given, micro_batch, scale=learned)  # type: ignore[arg-type]
    attention(*given, micro_batch, scale=learned.detach())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "scale", [0.0, -0.5, 1e-39, 1e39, float("nan"), "0.5", [1], 1j, 10**400]
)
def test_a_scale_that_cannot_be_is_refused(scale: Any) -> None:  # noqa: ANN401
    """Rather than taken for another."""
    (micro_batch, *_) = example_attention.steps(1, 1)[0]
    given = example_attention.same(_tensor(micro_batch.tokens, 2, 64))
    message = rf"scale: {re.escape(ascii(scale)[:60])}.*, or None for"
    with pytest.raises(InvalidArgumentError, match=message):
        attention(*given, micro_batch, scale=scale)


def test_tensors_and_worker_are_on_one_device() -> None:
    """Nothing is moved unasked."""
    (micro_batch, *_) = example_attention.steps(1, 1)[0]
    given = _tensor(micro_batch.tokens, 2, 64)
    elsewhere = _tensor(micro_batch.tokens, 2, 64, device="meta")
    with pytest.raises(UnimplementedError, match="value: a tensor on meta"):
        attention(given, given, elsewhere, micro_batch)
    worker = InProcessWorker.__new__(InProcessWorker)
    worker.device = torch.device("cuda", 1)
    with pytest.raises(
        InvalidArgumentError, match=r"query: on cpu .*on cuda:1, where the worker"
    ):
        attention(*example_attention.same(given), micro_batch, worker=worker)


def test_a_worker_of_the_right_kind_is_asked_for() -> None:
    """Where the micro-batch is cut, and for a sidecar always."""
    (micro_batch, *_) = example_attention.steps(2, 1)[0]
    given = example_attention.same(_tensor(7, 2, 64))
    with pytest.raises(FailedPreconditionError, match=r"a group of 2 .*InProcess"):
        attention(*given, micro_batch)
    with pytest.raises(FailedPreconditionError, match="accepted: SidecarWorker"):
        attention(*given, micro_batch, "sidecar")
    with pytest.raises(InvalidArgumentError, match="backend: 'cuda'"):
        attention(*given, micro_batch, "cuda")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="worker: object"):
        attention(*given, micro_batch, worker=object())  # type: ignore[arg-type]


def test_a_star_import_does_without_pytorch() -> None:
    """Which is optional: `attention` is asked for by name."""
    program = "import sys; sys.modules['torch'] = None; from evenpack import *; Step"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
