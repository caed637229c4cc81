"""Tests of a step's model operations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import random_steps
from evenpack.errors import InvalidArgumentError
from evenpack.model_flops import ModelSize, step_flops, training_flops, utilization

if TYPE_CHECKING:
    from torch import Tensor

HIDDEN = 16
HEADS = 4
VOCABULARY = 24
LAYERS = 3
# Attention's four projections and an MLP of twice the width, then the output layer.
MATRICES = LAYERS * (4 + 2 + 2) * HIDDEN * HIDDEN + HIDDEN * VOCABULARY
SIZE = ModelSize(MATRICES, LAYERS, HIDDEN)


def _pairs(lengths: list[int]) -> int:
    return sum(position + 1 for length in lengths for position in range(length))


def test_matrices_take_six_operations_a_parameter_and_token() -> None:
    assert training_flops(ModelSize(1000, 0, 64), 7, 49) == 6 * 1000 * 7


def test_attention_takes_twelve_operations_a_pair_that_a_query_sees() -> None:
    lengths = [5, 1, 3]
    flops = training_flops(ModelSize(0, 2, 64), 9, 25 + 1 + 9)
    assert flops == 12 * 2 * 64 * _pairs(lengths)


def test_pairs_behind_the_mask_are_counted_if_asked_for() -> None:
    flops = training_flops(ModelSize(0, 2, 64), 9, 35, masked_pairs=True)
    assert flops == 12 * 2 * 64 * (25 + 1 + 9)


def test_large_steps_are_exact() -> None:
    tokens, window = 2**30, 2**17
    flops = training_flops(ModelSize(405 * 10**9, 126, 16384), tokens, tokens * window)
    assert flops == 6 * 405 * 10**9 * tokens + 6 * 126 * 16384 * tokens * (window + 1)


def test_a_steps_operations_are_those_of_its_documents() -> None:
    """Padding is not among them."""
    fields = random_steps.spec("megatron_thd", 2, random_steps.PADDED)
    lengths = random_steps.random_lengths(1)
    steps = list(random_steps.steps(fields, lengths))
    assert sum(step.padding for step in steps) > 0
    for step in steps:
        own = np.concatenate([step[i].length for i in range(len(step))]).tolist()
        expected = 6 * MATRICES * sum(own) + 12 * LAYERS * HIDDEN * _pairs(own)
        assert step_flops(SIZE, step) == expected


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("lengths", [[1], [7], [5, 1, 12]])
def test_pytorch_counts_as_many_operations(lengths: list[int]) -> None:
    """It knows of no mask, and so counts all pairs."""
    torch = pytest.importorskip("torch")
    counter = pytest.importorskip("torch.utils.flop_counter")
    generator = torch.Generator().manual_seed(1)

    def matrix(rows: int, columns: int) -> Tensor:
        drawn = torch.randn((rows, columns), generator=generator)
        return drawn.requires_grad_()

    # The first layer's inputs come from an embedding, so they have gradients too.
    layers = [
        [matrix(HIDDEN, HIDDEN) for _ in range(4)]
        + [matrix(HIDDEN, 2 * HIDDEN), matrix(2 * HIDDEN, HIDDEN)]
        for _ in range(LAYERS)
    ]
    output = matrix(HIDDEN, VOCABULARY)

    def attend(
        hidden: Tensor, query: Tensor, key: Tensor, value: Tensor, project: Tensor
    ) -> Tensor:
        length = len(hidden)
        heads = [
            (hidden @ weight).view(length, HEADS, -1).transpose(0, 1)
            for weight in (query, key, value)
        ]
        scores = (heads[0] @ heads[1].transpose(1, 2)).tril().softmax(-1)
        return (scores @ heads[2]).transpose(0, 1).reshape(length, HIDDEN) @ project

    with counter.FlopCounterMode(display=False) as counted:
        for length in lengths:
            hidden = matrix(length, HIDDEN)
            for *attention, widen, narrow in layers:
                hidden = hidden + attend(hidden, *attention)
                hidden = hidden + (hidden @ widen).relu() @ narrow
            (hidden @ output).sum().backward()
    squares = sum(length * length for length in lengths)
    flops = training_flops(SIZE, sum(lengths), squares, masked_pairs=True)
    assert counted.get_total_flops() == flops


def test_utilization_is_the_part_of_all_devices_peak() -> None:
    assert utilization(6 * 10**15, 2.0, 8, 1e15) == 0.375


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 0), "tokens: -1 is not accepted; accepted: 0 to "),
        ((math.nan, 4), "tokens: nan is not accepted; accepted: an integer"),
        ((None, 4), "tokens: None is not accepted; accepted: an integer"),
        ((5, math.nan), "sum_squared_lengths: nan is not accepted"),
        ((5, 4), "sum_squared_lengths: 4 is not accepted; accepted: 5 to 25"),
        ((5, 26), "sum_squared_lengths: 26 is not accepted; accepted: 5 to 25"),
    ],
)
def test_impossible_steps_are_refused(arguments: tuple[Any, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        training_flops(SIZE, *arguments)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    ("at", "field"),
    [(0, "matrix_parameters"), (1, "attention_layers"), (2, "attention_width")],
)
@pytest.mark.parametrize("size", [-1, math.nan, None, "7"])
def test_sizes_that_are_no_number_or_negative_are_refused(
    at: int, field: str, size: object
) -> None:
    sizes: list[Any] = [0, 0, 0]
    sizes[at] = size
    with pytest.raises(InvalidArgumentError) as error:
        ModelSize(*sizes)
    assert str(error.value).startswith(f"{field}: {size!r} is not accepted")


def test_what_is_no_model_and_no_step_is_named() -> None:
    model: Any = (8, 1, 1)
    with pytest.raises(InvalidArgumentError, match=r"^model: tuple .*: a ModelSize$"):
        training_flops(model, 1, 1)
    step: Any = None
    with pytest.raises(InvalidArgumentError, match=r"^step: None .*: a Step"):
        step_flops(SIZE, step)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ((0.0, 1, 1.0), "seconds"),
        ((1.0, 0, 1.0), "devices"),
        ((1.0, 1, 0.0), "peak_flops_per_second"),
        ((math.nan, 1, 1.0), "seconds"),
        ((1.0, 1, math.nan), "peak_flops_per_second"),
        ((None, 1, 1.0), "seconds"),
    ],
)
def test_a_share_of_nothing_is_refused(
    arguments: tuple[Any, Any, Any], field: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=f"^{field}: (0|nan|None).* above 0"):
        utilization(1, *arguments)
