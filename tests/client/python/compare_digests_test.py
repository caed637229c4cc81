"""Tests of evenpack.compare_digests."""

from __future__ import annotations

from itertools import islice
from typing import Any

import example_jobs
import pytest
from evenpack import PackedDataset, compare_digests
from evenpack.errors import DataLossError, InvalidArgumentError
from torch_ranks import run_ranks

pytest.importorskip("torch")


def _compare(documents_of_rank_1: int) -> None:
    import torch.distributed as dist

    rank = dist.get_rank()
    documents = example_jobs.lengths(600)
    if rank == 1:
        documents = documents[:documents_of_rank_1]
    dataset = PackedDataset(
        spec=example_jobs.spec(), lengths=documents, dp_rank=rank % 2
    )
    for step in islice(dataset, 2):
        compare_digests(step)
    *_, last = dataset
    if documents_of_rank_1 == 600:
        compare_digests(last)
        return
    with pytest.raises(DataLossError, match=r"differ from rank 0: \[1\]"):
        compare_digests(last)


@pytest.mark.parametrize("documents_of_rank_1", [600, 400])
def test_ranks_with_the_same_documents_agree_and_others_are_named(
    documents_of_rank_1: int,
) -> None:
    """On every rank."""
    run_ranks(3, _compare, documents_of_rank_1)


@pytest.mark.parametrize(("step", "shown"), [(None, "None"), (3, "3")])
def test_what_is_no_step_is_refused(step: Any, shown: str) -> None:  # noqa: ANN401
    with pytest.raises(InvalidArgumentError) as caught:
        compare_digests(step)
    assert str(caught.value) == f"step: {shown} is not accepted; accepted: a Step"
