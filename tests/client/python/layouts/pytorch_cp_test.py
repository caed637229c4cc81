"""Tests of the order that PyTorch's context parallelism wants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import random_steps
from evenpack.errors import InvalidArgumentError
from evenpack.layouts.pytorch_cp import PytorchCpBatch, pytorch_cp_batch
from evenpack.layouts.te_thd import te_thd_indices

BY_SEQUENCE: dict[str, object] = {"sharding": "SHARDING_PER_SEQUENCE"}
BALANCERS = "torch.distributed.tensor.experimental._context_parallel._load_balancer"


def _batches(
    layout: str, context: int, variant: dict[str, Any]
) -> list[PytorchCpBatch]:
    return [
        pytorch_cp_batch(micro_batch, random_steps.token_ids(micro_batch))
        for micro_batch in random_steps.micro_batches(layout, context, variant)
    ]


@pytest.mark.parametrize(("layout", "context", "variant"), random_steps.HEAD_TAIL)
def test_the_inverse_undoes_the_permutation(
    layout: str, context: int, variant: dict[str, Any]
) -> None:
    for batch in _batches(layout, context, variant):
        indices = np.arange(batch.tokens.size)
        assert np.sort(batch.permutation).tolist() == indices.tolist()
        assert batch.permutation[batch.inverse].tolist() == indices.tolist()
        assert batch.permutation.dtype == batch.inverse.dtype == np.int64
        assert (batch.tokens[batch.permutation][batch.inverse] == batch.tokens).all()


def test_a_run_is_what_a_rank_has() -> None:
    for micro_batch in random_steps.micro_batches("pytorch_cp", 3, random_steps.PLAIN):
        batch = pytorch_cp_batch(micro_batch, random_steps.token_ids(micro_batch))
        for rank, run in enumerate(np.split(batch.permutation, 3)):
            assert run.tolist() == te_thd_indices(micro_batch, rank).tolist()
        assert (batch.document_lengths % 6 == 0).all()
        assert batch.document_lengths.sum() == batch.tokens.size


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("context", [2, 3, 4])
@pytest.mark.parametrize("variant", random_steps.VARIANTS.values())
def test_the_order_is_that_of_pytorchs_balancer_per_document(
    context: int, variant: dict[str, Any]
) -> None:
    balancers = pytest.importorskip(BALANCERS)
    per_document = getattr(balancers, "_PerDocumentHeadTailLoadBalancer", None)
    if per_document is None:
        pytest.skip("this PyTorch has no balancer per document")
    small = per_document([[4, 8]], 2, "cpu")._generate_indices()[0]
    if small.tolist() != [0, 3, 4, 5, 10, 11, 1, 2, 6, 7, 8, 9]:
        pytest.skip("this PyTorch orders by document, and then cuts that for ranks")
    for batch in _batches("pytorch_cp", context, variant):
        if batch.tokens.size == 0:
            continue
        lengths = batch.document_lengths.tolist()
        balancer = per_document([lengths], context, "cpu")
        order = balancer._generate_indices()[0]
        assert batch.permutation.tolist() == order.tolist()
        restored = balancer._generate_indices(restore=True)[0]
        assert batch.inverse.tolist() == restored.tolist()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("context", [2, 3, 4])
def test_a_job_that_cuts_the_sequence_has_the_order_of_the_default_balancer(
    context: int,
) -> None:
    balancers = pytest.importorskip(BALANCERS)
    for batch in _batches("pytorch_cp", context, BY_SEQUENCE):
        balancer = balancers._HeadTailLoadBalancer(batch.tokens.size, context, "cpu")
        order = balancer._generate_indices()[0]
        assert batch.permutation.tolist() == order.tolist()
        restored = balancer._generate_indices(restore=True)[0]
        assert batch.inverse.tolist() == restored.tolist()


def test_a_job_that_cuts_the_sequence_has_its_head_and_tail_on_a_rank() -> None:
    micro_batch = random_steps.of_documents(
        [5, 2], layout="pytorch_cp", context=2, changes=BY_SEQUENCE
    )
    batch = pytorch_cp_batch(micro_batch, np.arange(7))
    assert batch.permutation.tolist() == [0, 1, 6, 7, 2, 3, 4, 5]
    assert batch.document_lengths.tolist() == [5, 3]


def test_another_layout_is_refused() -> None:
    micro_batch = random_steps.of_documents([8], layout="ring_llama3", context=2)
    with pytest.raises(InvalidArgumentError, match=r"^layout: ring_llama3 is not"):
        pytorch_cp_batch(micro_batch, np.arange(8))
