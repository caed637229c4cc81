"""Tests of what Megatron-Core takes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import random_steps
from evenpack._native import MicroBatch
from evenpack.errors import InvalidArgumentError
from evenpack.layouts.megatron_thd import MegatronThdBatch, megatron_thd_batch
from evenpack.layouts.te_thd import te_thd_indices
from evenpack.layouts.torch_tensors import torch_tensors

if TYPE_CHECKING:
    from torch import Tensor

COLUMNS = ("tokens", "position_ids", "labels", "loss_mask")
PARALLEL_STATE = "megatron.core.parallel_state"


def _batch(micro_batch: MicroBatch, cp_rank: int | None = None) -> MegatronThdBatch:
    return megatron_thd_batch(
        micro_batch, random_steps.token_ids(micro_batch), cp_rank=cp_rank
    )


@pytest.mark.parametrize(("layout", "context", "variant"), random_steps.HEAD_TAIL)
def test_a_batch_has_what_attention_and_loss_need(
    layout: str, context: int, variant: dict[str, Any]
) -> None:
    for micro_batch in random_steps.micro_batches(layout, context, variant):
        batch = _batch(micro_batch)
        lengths = np.diff(batch.cu_seqlens_padded)
        for name in COLUMNS:
            column = getattr(batch, name)
            assert column.shape == (lengths.sum(),)
            assert column.dtype == (np.float32 if name == "loss_mask" else np.int64)
        assert np.diff(batch.cu_seqlens).tolist() == micro_batch.length.tolist()
        assert batch.cu_seqlens.dtype == batch.cu_seqlens_padded.dtype == np.int32
        assert batch.max_seqlen == lengths.max(initial=0)
        if context > 1:
            assert (lengths % (2 * context) == 0).all()
        for begin, length in zip(
            batch.cu_seqlens_padded, micro_batch.length, strict=False
        ):
            own = slice(begin, begin + length)
            assert batch.position_ids[own].tolist() == list(range(length))
            assert (batch.labels[own][:-1] == batch.tokens[own][1:]).all()
        assert batch.loss_mask.sum() == micro_batch.tokens - micro_batch.documents


@pytest.mark.parametrize(("layout", "context", "variant"), random_steps.HEAD_TAIL)
def test_the_parts_of_all_ranks_are_the_whole(
    layout: str, context: int, variant: dict[str, Any]
) -> None:
    for micro_batch in random_steps.micro_batches(layout, context, variant):
        whole = _batch(micro_batch)
        for name in COLUMNS:
            gathered = np.full_like(getattr(whole, name), -5)
            for rank in range(context):
                part = getattr(_batch(micro_batch, rank), name)
                gathered[te_thd_indices(micro_batch, rank)] = part
            assert gathered.tolist() == getattr(whole, name).tolist()
        part_of_last = _batch(micro_batch, context - 1)
        assert part_of_last.cu_seqlens.tolist() == whole.cu_seqlens.tolist()
        assert part_of_last.max_seqlen == whole.max_seqlen


@pytest.mark.parametrize(
    ("first", "last", "names"),
    [
        (True, False, {"tokens", "position_ids"}),
        (False, True, {"labels", "loss_mask"}),
        (False, False, set()),
        (True, True, set(COLUMNS)),
    ],
)
def test_a_pipeline_stage_is_given_what_it_needs(
    first: bool, last: bool, names: set[str]
) -> None:
    batch = _batch(random_steps.of_documents([5, 3], layout="megatron_thd", context=2))
    given = batch.for_stage(first=first, last=last)
    assert set(given) == names | {"cu_seqlens", "cu_seqlens_padded", "max_seqlen"}
    assert all(given[name] is getattr(batch, name) for name in given)


@pytest.mark.parametrize(
    ("layout", "sharding"),
    [
        ("native", "SHARDING_PER_DOCUMENT"),
        ("ring_llama3", "SHARDING_CONTIGUOUS"),
        ("megatron_thd", "SHARDING_PER_SEQUENCE"),
    ],
)
def test_documents_that_are_not_padded_for_it_are_refused(
    layout: str, sharding: str
) -> None:
    micro_batch = random_steps.of_documents(
        [9], layout=layout, context=2, changes={"sharding": sharding}
    )
    with pytest.raises(InvalidArgumentError, match=r"^(layout|sharding): "):
        _batch(micro_batch)


@pytest.mark.filterwarnings("ignore")
def test_megatron_takes_the_parameters_of_packed_sequences() -> None:
    packed = pytest.importorskip("megatron.core.packed_seq_params")
    batch = _batch(random_steps.of_documents([5, 3], layout="megatron_thd", context=2))
    arguments = torch_tensors(dict(batch.packed_seq_params()))
    params = packed.PackedSeqParams(**arguments)
    assert params.qkv_format == "thd"
    assert params.cu_seqlens_q.tolist() == params.cu_seqlens_kv.tolist() == [0, 5, 8]
    assert params.cu_seqlens_q_padded.tolist() == [0, 8, 12]
    assert params.cu_seqlens_kv_padded.tolist() == [0, 8, 12]
    assert params.max_seqlen_q == params.max_seqlen_kv == 8


class _Kernels:
    """TransformerEngine's, which need a device."""

    @staticmethod
    def thd_get_partitioned_indices(
        starts: Tensor, tokens: int, size: int, rank: int
    ) -> Tensor:
        torch = pytest.importorskip("torch")
        chunks = [
            torch.arange(begin, end).chunk(2 * size)
            for begin, end in pairwise(starts.tolist())
        ]
        own = [pair[slot] for pair in chunks for slot in (rank, 2 * size - 1 - rank)]
        indices = torch.cat(own)
        assert len(indices) == tokens // size
        return indices


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("context", [1, 2, 3, 4])
def test_a_ranks_part_is_what_megatron_cuts_itself(
    context: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    megatron = pytest.importorskip("megatron.core.utils")
    if not hasattr(megatron, "get_thd_batch_on_this_cp_rank"):
        pytest.skip("this Megatron has another way to cut packed sequences")

    monkeypatch.setattr(megatron, "tex", _Kernels, raising=False)
    monkeypatch.setattr(megatron, "is_te_min_version", lambda _: True)
    for micro_batch in random_steps.micro_batches(
        "megatron_thd", context, random_steps.SEQUENCE_PARALLEL
    ):
        if micro_batch.documents == 0:
            continue
        whole = torch_tensors(_batch(micro_batch))
        for rank in range(context):
            cut, params = megatron.get_thd_batch_on_this_cp_rank(
                {name: whole[name][None] for name in COLUMNS},
                whole["cu_seqlens"],
                whole["cu_seqlens_padded"],
                torch.tensor([whole["max_seqlen"]]),
                cp_size=context,
                cp_rank=rank,
            )
            part = _batch(micro_batch, rank)
            for name in COLUMNS:
                assert cut[name][0].tolist() == getattr(part, name).tolist()
            expected = torch_tensors(dict(part.packed_seq_params()))
            for name, value in expected.items():
                same = torch.as_tensor(getattr(params, name) == value)
                assert same.all()


@pytest.mark.filterwarnings("ignore")
def test_megatrons_loss_of_ignored_labels_is_masked() -> None:
    torch = pytest.importorskip("torch")
    entropy = pytest.importorskip("megatron.core.tensor_parallel.cross_entropy")
    state = pytest.importorskip(PARALLEL_STATE)
    batch = _batch(random_steps.of_documents([5, 3], layout="megatron_thd", context=2))
    labels = torch.from_numpy(batch.labels).clamp(max=31)[:, None]
    logits = torch.randn(12, 1, 32, generator=torch.Generator().manual_seed(1))
    logits.requires_grad_()
    torch.distributed.init_process_group(
        "gloo", store=torch.distributed.HashStore(), rank=0, world_size=1
    )
    try:
        state.initialize_model_parallel()
        losses = entropy.vocab_parallel_cross_entropy(logits.clone(), labels)
    finally:
        state.destroy_model_parallel()
        torch.distributed.destroy_process_group()
    (losses[:, 0] * torch.from_numpy(batch.loss_mask)).sum().backward()
    expected = torch.nn.functional.cross_entropy(
        logits[:, 0].detach().requires_grad_(), labels[:, 0], reduction="sum"
    )
    given = (losses[:, 0] * torch.from_numpy(batch.loss_mask)).sum()
    assert torch.allclose(given, expected)
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()
    assert (logits.grad[batch.loss_mask == 0] == 0).all()
