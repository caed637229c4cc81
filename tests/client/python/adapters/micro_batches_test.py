"""Tests that a loop has every micro-batch, as its layout says, with its weight."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pytest
import random_steps
from evenpack import MicroBatch, PackedDataset, Step
from evenpack.adapters.micro_batches import (
    CountedTokens,
    layout_batch,
    micro_batches,
)
from evenpack.document_columns import Documents
from evenpack.errors import CancelledError, InvalidArgumentError
from evenpack.layouts import (
    hf_flat_batch,
    megatron_thd_batch,
    native_batch,
    pytorch_cp_batch,
    ring_llama3_batch,
    segment_id_batch,
    torch_tensors,
)
from evenpack.loss_weights import GradientReduction

torch = pytest.importorskip("torch")

LENGTHS = random_steps.random_lengths(3)
# Of each job's layout: what a loop asks for, with CP rank 1 of 2 where it is cut.
LAYOUTS: list[tuple[str, str, int, Callable[[MicroBatch, Any], Any]]] = [
    ("hf_flat", "hf_flat", 1, hf_flat_batch),
    ("megatron_thd", "megatron_thd", 2, partial(megatron_thd_batch, cp_rank=1)),
    ("te_thd", "megatron_thd", 2, partial(megatron_thd_batch, cp_rank=1)),
    ("native", "native", 2, partial(native_batch, cp_rank=1)),
    ("pytorch_cp", "pytorch_cp", 2, pytorch_cp_batch),
    ("ring_llama3", "ring_llama3", 2, partial(ring_llama3_batch, cp_rank=1)),
    ("native", "segment_ids", 2, segment_id_batch),
]


def _dataset(
    layout: str = "native", context: int = 1, cp_rank: int | None = None
) -> PackedDataset:
    spec = random_steps.spec(layout, context, random_steps.PLAIN)
    return PackedDataset(spec=spec, lengths=LENGTHS, cp_rank=cp_rank)


def _same(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Whether tensors have the same types, shapes and values, and the rest is equal."""
    return found.keys() == expected.keys() and all(
        torch.equal(found[name], value) and found[name].dtype == value.dtype
        if isinstance(value, torch.Tensor)
        else found[name] == value
        for name, value in expected.items()
    )


@pytest.mark.parametrize("asks", ["the loop", "the dataset"])
@pytest.mark.parametrize(("job", "layout", "context", "make"), LAYOUTS)
def test_tensors_are_those_of_the_layout(
    job: str,
    layout: str,
    context: int,
    make: Callable[[MicroBatch, Any], Any],
    asks: str,
) -> None:
    cut = context > 1 and layout not in ("pytorch_cp", "segment_ids")
    of_loop = 1 if cut and asks == "the loop" else None
    dataset = _dataset(job, context, 1 if asks == "the dataset" and cut else None)
    loop = list(
        micro_batches(dataset, random_steps.token_ids, layout=layout, cp_rank=of_loop)
    )
    assert len(loop) > 5
    for now in loop:
        batch = make(now.micro_batch, random_steps.token_ids(now.micro_batch))
        assert _same(now.tensors, torch_tensors(batch))


def test_a_loop_has_each_micro_batch_of_each_step_once_and_in_order() -> None:
    """And sees where a step ends, on whichever rank."""
    spec = random_steps.spec("native", 1, random_steps.PLAIN)
    spec["parallelism"] |= {"data": 2}
    datasets = [PackedDataset(spec=spec, lengths=LENGTHS, dp_rank=1) for _ in range(2)]
    expected = [
        (step.digest, step[i].digest, i == len(step) - 1)
        for step in datasets[0]
        for i in range(len(step))
    ]
    loop = micro_batches(datasets[1], random_steps.token_ids, layout="native")
    found = [(now.step.digest, now.micro_batch.digest, now.ends_step) for now in loop]
    assert found == expected


@pytest.mark.parametrize("context", [1, 2])
def test_weighted_tokens_of_a_step_make_one(context: int) -> None:
    """As the mean over DP and CP ranks has them."""
    spec = random_steps.spec("native", context, random_steps.PLAIN)
    spec["parallelism"] |= {"data": 2}
    # None is split, and nothing predicts the first token of each.
    lengths = np.clip(LENGTHS, 2, 144)
    documents = Documents(lengths, loss_tokens=lengths - 1)
    shares: dict[int, float] = {}
    for dp_rank in range(2):
        for cp_rank in range(context):
            dataset = PackedDataset(
                spec=spec, lengths=documents, dp_rank=dp_rank, cp_rank=cp_rank
            )
            tokens_of = random_steps.token_ids
            for now in islice(micro_batches(dataset, tokens_of, layout="native"), 6):
                share = float(now.tensors["loss_mask"].sum()) * now.loss_weight
                index = now.step.index
                shares[index] = shares.get(index, 0.0) + share / (2 * context)
    assert shares == pytest.approx({0: 1.0, 1: 1.0})


def test_the_weight_is_that_of_the_reduction() -> None:
    reduction = GradientReduction(data_parallel=8, data="mean")
    loop = micro_batches(
        _dataset(),
        random_steps.token_ids,
        layout="native",
        reduction_of=lambda _step: reduction,
    )
    first = next(loop)
    assert first.loss_weight == 8 / first.step.loss_tokens


@pytest.mark.parametrize("layout", ["megatron_thd", "pytorch_cp", "segment_ids"])
def test_counted_and_following_tokens_reach_the_labels(layout: str) -> None:
    micro_batch = random_steps.of_documents([3, 2])
    given = CountedTokens(
        np.arange(5),
        counted=np.array([True, False, True, True, True]),
        following=np.array([-1, 9]),
    )
    labels = torch_tensors(layout_batch(micro_batch, given, layout))["labels"]
    assert labels.tolist() == [-100, 2, -100, 4, 9]


def test_padding_has_the_pad_token() -> None:
    job: dict[str, object] = {"consumer_layout": {"pad_tokens_to": 8}}
    micro_batch = random_steps.of_documents([3], changes=job)
    for layout in ("megatron_thd", "native", "pytorch_cp", "segment_ids"):
        batch = layout_batch(micro_batch, np.array([1, 2, 3]), layout, pad_token=7)
        assert torch_tensors(batch)["tokens"].tolist() == [1, 2, 3] + [7] * 5
    flat = layout_batch(micro_batch, np.array([1, 2, 3]), "hf_flat", pad_token=7)
    assert torch_tensors(flat)["input_ids"].tolist() == [[1, 2, 3] + [7] * 5]


def test_padding_of_a_loop_has_its_pad_token() -> None:
    spec = random_steps.spec("native", 1, random_steps.PADDED)
    dataset = PackedDataset(spec=spec, lengths=LENGTHS)
    tokens_of = random_steps.token_ids
    for now in micro_batches(dataset, tokens_of, layout="segment_ids", pad_token=-7):
        padding = now.tensors["tokens"] == -7
        assert torch.equal(padding, now.tensors["segment_ids"] == 0)
        assert int(padding.sum()) == now.micro_batch.padding


def test_tensors_go_to_a_device() -> None:
    """And what is no tensor stays as it is."""
    tokens_of = random_steps.token_ids
    for device in ("meta", torch.device("meta")):
        loop = micro_batches(
            _dataset(), tokens_of, layout="megatron_thd", device=device
        )
        tensors = next(loop).tensors
        assert tensors["tokens"].is_meta
        assert tensors["cu_seqlens"].is_meta
        assert isinstance(tensors["max_seqlen"], int)


def test_steps_may_come_through_a_data_loader() -> None:
    tokens_of = random_steps.token_ids
    loader = torch.utils.data.DataLoader(_dataset(), batch_size=None)
    through = list(micro_batches(loader, tokens_of, layout="native"))
    straight = list(micro_batches(_dataset(), tokens_of, layout="native"))
    assert len(through) == len(straight)
    for ours, theirs in zip(through, straight, strict=True):
        assert _same(ours.tensors, theirs.tensors)


def test_tokens_are_read_when_their_micro_batch_is_asked_for() -> None:
    read: list[bytes] = []

    def tokens_of(micro_batch: MicroBatch) -> np.ndarray[Any, Any]:
        read.append(micro_batch.digest)
        return random_steps.token_ids(micro_batch)

    loop = micro_batches(_dataset(), tokens_of, layout="native")
    assert read == []
    given = [now.micro_batch.digest for now in islice(loop, 2)]
    assert read == given


def test_empty_micro_batches_come_too() -> None:
    """Of a step that has fewer documents than micro-batches; hf_flat has a token."""
    spec = random_steps.spec("native", 1, random_steps.PLAIN)
    dataset = PackedDataset(spec=spec, lengths=[5])
    for layout in ("hf_flat", "megatron_thd", "native", "pytorch_cp", "segment_ids"):
        dataset = PackedDataset(spec=spec, lengths=[5])
        loop = list(micro_batches(dataset, random_steps.token_ids, layout=layout))
        sizes = sorted(now.tensors["labels"].numel() for now in loop)
        assert sizes == ([1, 1, 5] if layout == "hf_flat" else [0, 0, 5])


def test_a_loop_that_failed_does_not_say_that_the_job_has_ended() -> None:
    """Where tokens can't be read, say."""

    def tokens_of(_: MicroBatch) -> Any:  # noqa: ANN401 - what a trainer has
        raise OSError("disk")

    loop = micro_batches(_dataset(), tokens_of, layout="segment_ids")
    with pytest.raises(OSError, match="disk"):
        next(loop)
    with pytest.raises(CancelledError, match="disk"):
        next(loop)


def _no_steps() -> list[Step]:
    return []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layout": "thd"}, "layout: 'thd' is not accepted; accepted: hf_flat, "),
        ({"layout": None}, "layout: None is not accepted; accepted: hf_flat, "),
        ({"steps": None}, "steps: None is not accepted; accepted: a PackedDataset"),
        ({"tokens_of": None}, "tokens_of: None is not accepted; accepted: what gives"),
        ({"reduction_of": 1}, "reduction_of: int is not accepted; accepted: what"),
        (
            {"layout": "segment_ids", "cp_rank": 0},
            "cp_rank: 0 is not accepted; accepted: None with layout segment_ids",
        ),
        ({"layout": "hf_flat", "cp_rank": 0}, "cp_rank: 0 is not accepted"),
    ],
)
def test_what_no_micro_batch_can_have_is_refused_at_once(
    arguments: dict[str, Any], message: str
) -> None:
    given: dict[str, Any] = {
        "steps": _no_steps(),
        "tokens_of": random_steps.token_ids,
        "layout": "native",
    }
    with pytest.raises(InvalidArgumentError) as error:
        micro_batches(**(given | arguments))
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("device", ["nope", 1.5])
def test_what_is_no_device_of_pytorch_is_refused_at_once(device: Any) -> None:  # noqa: ANN401
    pytest.importorskip("torch")
    with pytest.raises(InvalidArgumentError, match=f"^device: '?{device}'? .* cuda:0$"):
        micro_batches(
            _no_steps(), random_steps.token_ids, layout="native", device=device
        )


@pytest.mark.parametrize("layout", ["native", "ring_llama3"])
def test_a_part_needs_a_rank(layout: str) -> None:
    micro_batch = random_steps.of_documents([8], layout=layout, context=2)
    with pytest.raises(InvalidArgumentError, match=r"^cp_rank: None .* 0 to 1$"):
        layout_batch(micro_batch, np.arange(8), layout)


def test_a_layout_without_next_tokens_refuses_them() -> None:
    given = CountedTokens(np.arange(3), following=np.array([4]))
    with pytest.raises(InvalidArgumentError, match=r"^following: .* layout hf_flat$"):
        layout_batch(random_steps.of_documents([3]), given, "hf_flat")
