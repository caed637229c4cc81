"""Weights with which micro-batches of unequal size train as one batch.

The gradient that is wanted is that of the mean loss over the tokens of the whole step
that count: sum of their losses / loss tokens of the step. Micro-batches hold different
numbers of tokens, so a mean over each, or over each rank, gives tokens of small ones
too much weight. Instead, each rank multiplies the *sum* of its tokens' losses by one
weight, the same on all ranks:

    reduction = GradientReduction.of_step(step, context="mean")
    weight = token_weight(step.loss_tokens, reduction)
    for micro_batch in step:
        ...
        (token_losses * loss_mask).sum().mul(weight).backward()

On the way to the optimizer, trainers divide gradients by numbers of ranks and of
micro-batches; `GradientReduction` says by which, and the weight takes that back.
Megatron-Core with calculate_per_token_loss divides by the step's tokens itself, and
needs no weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evenpack._native import Step
from evenpack.invalid_argument import (
    check_class,
    checked_number,
    checked_uint32,
    invalid_argument,
    quoted,
)
from evenpack.v1.job_pb2 import JobSpec

Reduction = Literal["sum", "mean"]


@dataclass(frozen=True)
class GradientReduction:
    """What becomes of a micro-batch's gradients before the optimizer has them.

    Attributes:
        data_parallel: ranks with micro-batches of their own (DP), at least 1.
        data: how gradients of these are put together. DistributedDataParallel and FSDP
            take the "mean", unless told otherwise (a communication hook, a gradient
            divide factor of 1).
        context_parallel: ranks that share each micro-batch (CP), at least 1. The losses
            of a rank are those of its own tokens.
        context: how gradients of these are put together. "mean" where CP ranks are in
            the group that data-parallel gradients are averaged over, as FSDP over a
            flattened DP x CP mesh and Megatron's distributed optimizer have it; "sum"
            where they are added up.
        micro_batches: that a DP rank has in a step, at least 1.
        accumulation: "sum" where gradients of successive backward passes add up, as
            PyTorch has it; "mean" where the trainer divides each loss by the number of
            micro-batches, as `accelerator.backward` of Hugging Face's Accelerate does
            by its gradient_accumulation_steps, and Megatron with the loss of a loss
            function that returns two values (which it also multiplies by CP: so give
            context="sum" there).
    """

    data_parallel: int = 1
    data: Reduction = "mean"
    context_parallel: int = 1
    context: Reduction = "mean"
    micro_batches: int = 1
    accumulation: Reduction = "sum"

    def __post_init__(self) -> None:
        """Raises InvalidArgumentError: a number below 1, or another way of reducing."""
        for field in ("data_parallel", "context_parallel", "micro_batches"):
            number = checked_uint32(field, getattr(self, field), 1)
            object.__setattr__(self, field, number)
        for field in ("data", "context", "accumulation"):
            if getattr(self, field) not in ("sum", "mean"):
                raise invalid_argument(
                    field, quoted(getattr(self, field)), "sum or mean"
                )

    @classmethod
    def of_step(
        cls,
        step: Step,
        *,
        data: Reduction = "mean",
        context: Reduction = "mean",
        accumulation: Reduction = "sum",
    ) -> GradientReduction:
        """With the numbers of ranks and micro-batches that the step was packed for.

        Raises:
            InvalidArgumentError: no Step.
        """
        check_class("step", step, Step, "a Step")
        parallelism = JobSpec.FromString(step.spec).parallelism
        # 0 in a spec stands for 1.
        return cls(
            data_parallel=max(parallelism.data, 1),
            data=data,
            context_parallel=max(parallelism.context, 1),
            context=context,
            micro_batches=max(len(step), 1),
            accumulation=accumulation,
        )

    @property
    def divisor(self) -> int:
        """What gradients are divided by in all."""
        divisor = self.data_parallel if self.data == "mean" else 1
        divisor *= self.context_parallel if self.context == "mean" else 1
        return divisor * (self.micro_batches if self.accumulation == "mean" else 1)


def token_weight(loss_tokens: float, reduction: GradientReduction) -> float:
    """What the loss of each token that counts is multiplied by, and then summed.

    Args:
        loss_tokens: of the whole step, all ranks together: `Step.loss_tokens`. Where
            producers count every token of a document, this is more than the tokens that
            are predicted (nothing predicts a document's first), and the loss smaller by
            that ratio; for the exact mean have them count one less. Where documents are
            split that isn't exact: the first token of each later piece counts in that
            piece's step, and is predicted only with `following`, by the piece before,
            perhaps in another step. Exact in any case is the sum of all loss masks of
            the step, reduced over all ranks; as integers or float32, since float16 has
            no sum above 65,504.
        reduction: what becomes of the gradients.

    Returns:
        The weight; 0.0 where no token counts.

    Raises:
        InvalidArgumentError: loss_tokens is negative, infinite or no number.
    """
    check_class("reduction", reduction, GradientReduction, "a GradientReduction")
    number = checked_number("loss_tokens", loss_tokens)
    return reduction.divisor / number if number > 0 else 0.0


def mean_loss_weight(
    counted: float, loss_tokens: float, reduction: GradientReduction
) -> float:
    """What a loss that is already a mean is multiplied by.

    For trainers that can't have a sum. A mean over no token is NaN, whatever its
    weight: leave out such a micro-batch's loss.

    Args:
        counted: tokens over which the mean was taken: those that count among the rank's
            own of the micro-batch, `loss_mask.sum()` of what the rank was handed.
        loss_tokens: as for `token_weight`.
        reduction: what becomes of the gradients.

    Returns:
        The weight, another for each micro-batch and rank; 0.0 where no token counts.

    Raises:
        InvalidArgumentError: a number is negative, infinite or none.
    """
    return token_weight(loss_tokens, reduction) * checked_number("counted", counted)
