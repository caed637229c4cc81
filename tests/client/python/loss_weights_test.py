"""Tests that weighted micro-batches train as one batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import random_steps
from evenpack._native import Step
from evenpack.errors import InvalidArgumentError
from evenpack.layouts.native import NativeBatch, native_batch
from evenpack.loss_weights import (
    GradientReduction,
    Reduction,
    mean_loss_weight,
    token_weight,
)
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

VOCABULARY = 11
CASES = [
    pytest.param(data, context, kinds, id=f"dp{data}-cp{context}-{'-'.join(kinds)}")
    for data in (1, 2, 3)
    for context in (1, 2, 3)
    for kinds in (
        ("mean", "mean", "sum"),
        ("mean", "sum", "sum"),
        ("sum", "sum", "sum"),
        ("mean", "sum", "mean"),
        ("sum", "mean", "mean"),
    )
]


def _first_steps(data: int, context: int) -> list[Step]:
    """One step, as each data-parallel rank has it; two micro-batches a rank."""
    fields = random_steps.spec("native", context, random_steps.PLAIN)
    fields["parallelism"] |= {"data": data, "micro_batches_per_rank": 2}
    lengths = np.clip(random_steps.random_lengths(5, 60), 2, 144).astype(np.uint32)
    ranks = range(data)
    return [
        next(random_steps.steps(fields, lengths, lengths - 1, rank)) for rank in ranks
    ]


def _parts(step: Step, cp_rank: int) -> list[NativeBatch]:
    """A rank's part of each of its micro-batches."""
    batches = [step[i] for i in range(len(step))]
    return [
        native_batch(batch, random_steps.token_ids(batch) % VOCABULARY, cp_rank)
        for batch in batches
    ]


class _Model:
    """Logits of a token from its embedding and its position, in double precision."""

    def __init__(self, torch: ModuleType) -> None:
        self.torch = torch
        generator = torch.Generator().manual_seed(7)
        shape = (VOCABULARY, 5)
        self.embedding, self.output = (
            torch.randn(shape, dtype=torch.float64, generator=generator)
            for _ in range(2)
        )

    def gradient(self, losses: Callable[..., Tensor]) -> Tensor:
        """Of a function of the parameters, which it is given as tensors."""
        leaves = [
            tensor.clone().requires_grad_() for tensor in (self.embedding, self.output)
        ]
        losses(*leaves).backward()
        return self.torch.cat([leaf.grad.flatten() for leaf in leaves])

    def losses(self, part: NativeBatch, embedding: Tensor, output: Tensor) -> Tensor:
        """Of each token, 0 where it predicts nothing."""
        torch = self.torch
        scale = 1.0 / (1 + torch.from_numpy(part.position_ids).double())
        hidden = torch.tanh(embedding[torch.from_numpy(part.tokens)] * scale[:, None])
        return torch.nn.functional.cross_entropy(
            hidden @ output.T, torch.from_numpy(part.labels), reduction="none"
        )

    def of_one_batch(self, steps: list[Step], context: int) -> Tensor:
        """Of the mean over all tokens of all ranks that count."""

        def mean(*leaves: Tensor) -> Tensor:
            losses = self.torch.cat(
                [
                    self.losses(part, *leaves)
                    for step in steps
                    for rank in range(context)
                    for part in _parts(step, rank)
                ]
            )
            return losses.sum() / (losses > 0).sum()

        return self.gradient(mean)


def _reduced(gradients: list[Tensor], kind: Reduction) -> Tensor:
    total = sum(gradients[1:], start=gradients[0])
    return total / len(gradients) if kind == "mean" else total


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("data", "context", "kinds"), CASES)
@pytest.mark.parametrize("loss", ["sum", "mean"])
def test_weighted_micro_batches_give_the_gradient_of_one_batch(
    data: int, context: int, kinds: tuple[Reduction, Reduction, Reduction], loss: str
) -> None:
    torch = pytest.importorskip("torch")
    model = _Model(torch)
    steps = _first_steps(data, context)
    by_data, by_context, by_accumulation = kinds

    def of_rank(step: Step, cp_rank: int) -> Tensor:
        reduction = GradientReduction.of_step(
            step, data=by_data, context=by_context, accumulation=by_accumulation
        )

        def weighted(part: NativeBatch, *leaves: Tensor) -> Tensor:
            losses = model.losses(part, *leaves)
            if loss == "sum":
                return losses.sum() * token_weight(step.loss_tokens, reduction)
            counted = int(part.loss_mask.sum())
            weight = mean_loss_weight(counted, step.loss_tokens, reduction)
            return losses.sum() / counted * weight

        gradients = [
            model.gradient(lambda *leaves, part=part: weighted(part, *leaves))
            for part in _parts(step, cp_rank)
        ]
        return _reduced(gradients, by_accumulation)

    by_ranks = [
        _reduced([of_rank(step, rank) for rank in range(context)], by_context)
        for step in steps
    ]
    expected = model.of_one_batch(steps, context)
    assert torch.allclose(_reduced(by_ranks, by_data), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("data", "context"), [(1, 1), (2, 1), (2, 2)])
def test_a_mean_of_means_is_another_gradient(data: int, context: int) -> None:
    torch = pytest.importorskip("torch")
    model = _Model(torch)
    steps = _first_steps(data, context)

    def mean(part: NativeBatch, *leaves: Tensor) -> Tensor:
        return model.losses(part, *leaves).sum() / int(part.loss_mask.sum())

    gradients = [
        model.gradient(lambda *leaves, part=part: mean(part, *leaves))
        for step in steps
        for rank in range(context)
        for part in _parts(step, rank)
    ]
    naive = sum(gradients) / len(gradients)
    expected = model.of_one_batch(steps, context)
    assert (naive - expected).norm() > 1e-3 * expected.norm()


def test_a_steps_loss_tokens_are_what_its_masks_have_together() -> None:
    """Where producers count all tokens of a document but the first."""
    steps = _first_steps(2, 2)
    masks: list[NDArray[np.float32]] = [
        part.loss_mask
        for step in steps
        for rank in range(2)
        for part in _parts(step, rank)
    ]
    assert np.concatenate(masks).sum() == steps[0].loss_tokens
    sizes = {batch.tokens for step in steps for batch in (step[0], step[1])}
    assert len(sizes) > 1


def test_numbers_of_ranks_and_micro_batches_are_the_jobs() -> None:
    (step, *_) = _first_steps(3, 2)
    assert GradientReduction.of_step(step, context="sum") == GradientReduction(
        data_parallel=3, context_parallel=2, context="sum", micro_batches=2
    )


@pytest.mark.parametrize(
    ("kinds", "divisor"),
    [
        (("mean", "mean", "mean"), 2 * 3 * 5),
        (("sum", "mean", "sum"), 3),
        (("mean", "sum", "sum"), 2),
        (("sum", "sum", "mean"), 5),
        (("sum", "sum", "sum"), 1),
    ],
)
def test_a_weight_takes_back_what_gradients_are_divided_by(
    kinds: tuple[Reduction, Reduction, Reduction], divisor: int
) -> None:
    data, context, accumulation = kinds
    reduction = GradientReduction(
        data_parallel=2,
        data=data,
        context_parallel=3,
        context=context,
        micro_batches=5,
        accumulation=accumulation,
    )
    assert token_weight(8, reduction) == divisor / 8
    assert mean_loss_weight(4, 8, reduction) == divisor / 2


def test_a_step_without_loss_tokens_has_weight_nought() -> None:
    assert token_weight(0, GradientReduction()) == 0.0
    assert mean_loss_weight(0, 0, GradientReduction()) == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"data_parallel": 0},
            "data_parallel: 0 is not accepted; accepted: 1 to 4294967295",
        ),
        ({"context_parallel": -1}, "context_parallel: -1 is not accepted"),
        ({"micro_batches": 0}, "micro_batches: 0 is not accepted"),
        (
            {"data_parallel": None},
            "data_parallel: None is not accepted; accepted: an integer, 1 to 429496729",
        ),
        ({"data_parallel": 1.5}, "data_parallel: 1.5 is not accepted"),
        ({"data_parallel": math.nan}, "data_parallel: nan is not accepted"),
        ({"data": "max"}, "data: 'max' is not accepted; accepted: sum or mean"),
        ({"context": ""}, "context: '' is not accepted"),
        ({"accumulation": None}, "accumulation: None is not accepted"),
    ],
)
def test_impossible_reductions_are_refused(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgumentError) as error:
        GradientReduction(**arguments)
    assert str(error.value).startswith(message)


def test_negative_numbers_of_tokens_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"^loss_tokens: -1 is not accepted"):
        token_weight(-1, GradientReduction())
    with pytest.raises(InvalidArgumentError, match=r"^counted: -2 is not accepted"):
        mean_loss_weight(-2, 1, GradientReduction())


@pytest.mark.parametrize("sum_of_masks", [math.inf, -math.inf, math.nan])
def test_sums_that_are_no_number_of_tokens_are_refused(sum_of_masks: float) -> None:
    """Infinite is what float16 makes of many: their weight would be nought."""
    accepted = f"{sum_of_masks} is not accepted; accepted: at least 0, and finite"
    with pytest.raises(InvalidArgumentError, match=f"^loss_tokens: {accepted}"):
        token_weight(sum_of_masks, GradientReduction())
    with pytest.raises(InvalidArgumentError, match=f"^counted: {accepted}"):
        mean_loss_weight(sum_of_masks, 1, GradientReduction())


def test_a_weight_has_all_digits_whatever_the_masks_are_of() -> None:
    """A quotient in half precision has few."""
    torch = pytest.importorskip("torch")
    tokens = torch.ones(60_000, dtype=torch.float16).sum()
    assert float(token_weight(tokens, GradientReduction())) == 1 / 60_000


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [(None, "None"), ("3", "'3'"), (np.ones(2), "array([1., 1.])"), ([], "[]")],
)
def test_what_is_no_number_of_tokens_is_refused(tokens: Any, shown: str) -> None:  # noqa: ANN401
    accepted = f"{shown} is not accepted; accepted: at least 0, and finite"
    with pytest.raises(InvalidArgumentError) as error:
        token_weight(tokens, GradientReduction())
    assert str(error.value) == f"loss_tokens: {accepted}"
    with pytest.raises(InvalidArgumentError) as error:
        mean_loss_weight(tokens, 1, GradientReduction())
    assert str(error.value) == f"counted: {accepted}"


def test_what_is_no_reduction_and_no_step_is_refused() -> None:
    nothing: Any = None
    with pytest.raises(InvalidArgumentError) as error:
        token_weight(3, nothing)
    assert str(error.value) == (
        "reduction: None is not accepted; accepted: a GradientReduction"
    )
    with pytest.raises(InvalidArgumentError) as error:
        GradientReduction.of_step(nothing)
    assert str(error.value) == "step: None is not accepted; accepted: a Step"


def test_numbers_of_numpy_become_pythons_own() -> None:
    """Or the divisor would overflow."""
    many: Any = np.uint8(200)
    reduction = GradientReduction(data_parallel=many, context_parallel=many)
    assert reduction.divisor == 40_000
