"""Micro-batches as tensors, one after another, for a loop in plain PyTorch.

As in

    dataset = PackedDataset("packer:7654", job="run-7", dp_rank=rank)
    if there_is_a_checkpoint:
        dataset.load_state_dict(saved)
        dataset.ack_durable()
    tokens_of = partial(gather, corpora=[corpus])
    for now in micro_batches(dataset, tokens_of, layout="segment_ids"):
        losses = model(now.tensors)  # of each token, 0 where its label is -100
        (losses.sum() * now.loss_weight).backward()
        if now.ends_step:
            optimizer.step()
            optimizer.zero_grad()
            save(model, optimizer, dataset.state_dict())
            dataset.ack_durable()

and, to be run, in examples/plain_loop.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenpack._native import MicroBatch, Step
from evenpack.failing_iterator import FailingIterator
from evenpack.invalid_argument import (
    check_class,
    checked_callable,
    invalid_argument,
    quoted,
)
from evenpack.layouts.hf_flat import HfFlatBatch, hf_flat_batch
from evenpack.layouts.megatron_thd import MegatronThdBatch, megatron_thd_batch
from evenpack.layouts.native import NativeBatch, native_batch
from evenpack.layouts.next_token_labels import Integers
from evenpack.layouts.pytorch_cp import PytorchCpBatch, pytorch_cp_batch
from evenpack.layouts.ring_llama3 import RingLlama3Batch, ring_llama3_batch
from evenpack.layouts.segment_ids import SegmentIdBatch, segment_id_batch
from evenpack.layouts.torch_tensors import torch_tensors
from evenpack.loss_weights import GradientReduction, token_weight

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class CountedTokens:
    """Tokens of which but some are to be predicted, or that go on in another piece.

    Attributes:
        tokens: of any integer type, [micro_batch.tokens].
        counted: bool, [micro_batch.tokens]: which tokens count in the loss. None: all
            those of documents with document_loss_tokens.
        following: of any integer type, [micro_batch.documents]: the token after the
            last one of each document or piece, to be predicted by that; -1 where there
            is none. None: all -1. Not for the layout hf_flat.
    """

    tokens: Integers
    counted: NDArray[np.bool_] | None = None
    following: Integers | None = None


# The token ids of a micro-batch without padding, integers [micro_batch.tokens], its
# documents (or pieces) one after another.
TokensOf = Callable[[MicroBatch], Integers | CountedTokens]

Batch = (
    HfFlatBatch
    | MegatronThdBatch
    | NativeBatch
    | PytorchCpBatch
    | RingLlama3Batch
    | SegmentIdBatch
)


class TrainingMicroBatch(NamedTuple):
    """A micro-batch of a step, ready for a model.

    It can be pickled, whole step and all: a DataLoader's worker that makes them yields
    `tensors`, with `loss_weight` where it is wanted, unless more is needed of each.

    Attributes:
        step: which the micro-batch is of.
        micro_batch: what was packed.
        tensors: the fields of the layout's batch by name, arrays as tensors.
        loss_weight: what the sum of the losses of its tokens is multiplied by; the same
            for all micro-batches of a step on all ranks.
    """

    step: Step
    micro_batch: MicroBatch
    tensors: dict[str, Any]
    loss_weight: float

    @property
    def ends_step(self) -> bool:
        """Whether it is the step's last: time for the optimizer and a checkpoint."""
        return self.micro_batch.index == self.step[len(self.step) - 1].index


def _part(micro_batch: MicroBatch, cp_rank: int | None) -> int:
    """The rank whose part is wanted, where a layout has no whole to give."""
    if cp_rank is not None:
        return cp_rank
    if micro_batch.context_parallel == 1:
        return 0
    last = micro_batch.context_parallel - 1
    raise invalid_argument("cp_rank", None, f"0 to {last}")


def _hf_flat(
    micro_batch: MicroBatch, given: CountedTokens, _cp_rank: int | None, pad_token: int
) -> HfFlatBatch:
    if given.following is not None:
        raise invalid_argument("following", "an array", "None with layout hf_flat")
    return hf_flat_batch(
        micro_batch, given.tokens, counted=given.counted, pad_token=pad_token
    )


def _megatron_thd(
    micro_batch: MicroBatch, given: CountedTokens, cp_rank: int | None, pad_token: int
) -> MegatronThdBatch:
    return megatron_thd_batch(
        micro_batch,
        given.tokens,
        cp_rank=cp_rank,
        counted=given.counted,
        following=given.following,
        pad_token=pad_token,
    )


def _native(
    micro_batch: MicroBatch, given: CountedTokens, cp_rank: int | None, pad_token: int
) -> NativeBatch:
    return native_batch(
        micro_batch,
        given.tokens,
        _part(micro_batch, cp_rank),
        counted=given.counted,
        following=given.following,
        pad_token=pad_token,
    )


def _pytorch_cp(
    micro_batch: MicroBatch, given: CountedTokens, _cp_rank: int | None, pad_token: int
) -> PytorchCpBatch:
    return pytorch_cp_batch(
        micro_batch,
        given.tokens,
        counted=given.counted,
        following=given.following,
        pad_token=pad_token,
    )


def _ring_llama3(
    micro_batch: MicroBatch, given: CountedTokens, cp_rank: int | None, pad_token: int
) -> RingLlama3Batch:
    return ring_llama3_batch(
        micro_batch,
        given.tokens,
        _part(micro_batch, cp_rank),
        counted=given.counted,
        following=given.following,
        pad_token=pad_token,
    )


def _segment_ids(
    micro_batch: MicroBatch, given: CountedTokens, _cp_rank: int | None, pad_token: int
) -> SegmentIdBatch:
    return segment_id_batch(
        micro_batch,
        given.tokens,
        counted=given.counted,
        following=given.following,
        pad_token=pad_token,
    )


# Layouts of which a context-parallel rank can have its part, and those that are whole.
_PARTS: dict[str, Callable[[MicroBatch, CountedTokens, int | None, int], Batch]] = {
    "megatron_thd": _megatron_thd,
    "native": _native,
    "ring_llama3": _ring_llama3,
}
_WHOLE: dict[str, Callable[[MicroBatch, CountedTokens, int | None, int], Batch]] = {
    "hf_flat": _hf_flat,
    "pytorch_cp": _pytorch_cp,
    "segment_ids": _segment_ids,
}


def layout_batch(
    micro_batch: MicroBatch,
    tokens: Integers | CountedTokens,
    layout: str,
    *,
    cp_rank: int | None = None,
    pad_token: int = 0,
) -> Batch:
    """The batch of `evenpack.layouts` that a layout's name stands for.

    Args:
        micro_batch: of a job whose layout suits.
        tokens: without padding, as `TokensOf` gives them.
        layout: "hf_flat", "megatron_thd", "native", "pytorch_cp", "ring_llama3" or
            "segment_ids".
        cp_rank: whose part, with megatron_thd, native and ring_llama3. None: the rank's
            whose slices came with the step; where none did, all of it with
            megatron_thd, and with the other two where context_parallel is 1.
        pad_token: the token id of padding.

    Raises:
        InvalidArgumentError: no such layout or rank, or as the layout's own function.
    """
    given = tokens if isinstance(tokens, CountedTokens) else CountedTokens(tokens)
    make = _checked(layout, cp_rank)
    rank = micro_batch.cp_rank if cp_rank is None else cp_rank
    return make(micro_batch, given, rank, pad_token)


def _checked(
    layout: str, cp_rank: int | None
) -> Callable[[MicroBatch, CountedTokens, int | None, int], Batch]:
    """What makes the batches, if there is such a layout and it has parts for ranks."""
    make = (_PARTS | _WHOLE).get(layout) if isinstance(layout, str) else None
    if make is None:
        accepted = ", ".join(sorted(_PARTS | _WHOLE))
        raise invalid_argument("layout", quoted(layout), accepted)
    if cp_rank is not None and layout in _WHOLE:
        accepted = f"None with layout {layout}, which trainers cut themselves"
        raise invalid_argument("cp_rank", cp_rank, accepted)
    return make


def micro_batches(
    steps: Iterable[Step],
    tokens_of: TokensOf,
    *,
    layout: str,
    cp_rank: int | None = None,
    pad_token: int = 0,
    device: torch.device | str | None = None,
    reduction_of: Callable[[Step], GradientReduction] = GradientReduction.of_step,
) -> Iterator[TrainingMicroBatch]:
    """All micro-batches of a rank, step by step.

    A step that was begun is the dataset's past: one that stops before `ends_step` and
    saves the dataset's state leaves out the rest of the step. Micro-batches of a job's
    last steps may be empty; they come too, since ranks that exchange gradients or
    experts meet at each.

    Args:
        steps: a PackedDataset, or a DataLoader of one.
        tokens_of: gives the token ids of a micro-batch, as `evenpack.corpora.gather`
            does. Called once for each, in order.
        layout: as for `layout_batch`; a job has one that suits.
        cp_rank: as for `layout_batch`.
        pad_token: as for `layout_batch`.
        device: where the tensors are moved to; None: they stay on the CPU.
        reduction_of: what becomes of gradients on the way to the optimizer.
            functools.partial(GradientReduction.of_step, context="sum"), say.

    Raises:
        InvalidArgumentError: an argument of another kind, or no such layout or device,
            at once; as `layout_batch` and `token_weight`, at the micro-batch.
        CancelledError: there was an error before.
        ImportError: PyTorch is not installed.
    """
    check_class("steps", steps, Iterable, "a PackedDataset, or what else gives steps")
    checked_callable("tokens_of", tokens_of, "what gives a micro-batch's tokens")
    checked_callable("reduction_of", reduction_of, "what gives a GradientReduction")
    _checked(layout, cp_rank)
    if device is not None:
        _check_device(device)

    def tensors(micro_batch: MicroBatch) -> dict[str, Any]:
        tokens = tokens_of(micro_batch)
        found = torch_tensors(
            layout_batch(
                micro_batch, tokens, layout, cp_rank=cp_rank, pad_token=pad_token
            )
        )
        return found if device is None else _moved(found, device)

    def each() -> Iterator[TrainingMicroBatch]:
        for step in steps:
            weight = token_weight(step.loss_tokens, reduction_of(step))
            for i in range(len(step)):
                yield TrainingMicroBatch(step, step[i], tensors(step[i]), weight)

    return FailingIterator(each())


def _check_device(device: torch.device | str) -> None:
    import torch

    try:
        torch.device(device)
    except (TypeError, RuntimeError) as error:
        accepted = "a device of PyTorch, such as cpu or cuda:0"
        raise invalid_argument("device", quoted(device), accepted) from error


def _moved(tensors: dict[str, Any], device: torch.device | str) -> dict[str, Any]:
    import torch

    return {
        name: value.to(device) if isinstance(value, torch.Tensor) else value
        for name, value in tensors.items()
    }
