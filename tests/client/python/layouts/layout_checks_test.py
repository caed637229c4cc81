"""Tests of what is refused before a layout is made."""

from __future__ import annotations

import pytest
import random_steps
from evenpack.errors import InvalidArgumentError
from evenpack.layouts.layout_checks import (
    require_cp_rank,
    require_layout,
    require_sharding,
)


def test_a_layout_that_is_not_among_those_accepted_is_refused() -> None:
    micro_batch = random_steps.of_documents([8, 8], layout="native", context=2)
    with pytest.raises(InvalidArgumentError) as error:
        require_layout(micro_batch, ["megatron_thd", "te_thd"])
    assert str(error.value) == (
        "layout: native is not accepted; accepted: megatron_thd or te_thd, or any with "
        "context_parallel 1"
    )
    require_layout(micro_batch, ["native"])


def test_any_layout_will_do_where_nothing_is_cut() -> None:
    require_layout(random_steps.of_documents([8], layout="native"), ["te_thd"])


def test_another_sharding_is_refused_where_it_matters() -> None:
    changes: dict[str, object] = {"sharding": "SHARDING_PER_SEQUENCE"}
    cut = random_steps.of_documents([8], layout="te_thd", context=2, changes=changes)
    with pytest.raises(InvalidArgumentError) as error:
        require_sharding(cut, "per_document")
    assert str(error.value) == (
        "sharding: per_sequence is not accepted; accepted: per_document with "
        "context_parallel > 1"
    )
    require_sharding(cut, "per_sequence")
    whole = random_steps.of_documents([8], layout="te_thd", changes=changes)
    require_sharding(whole, "per_document")


@pytest.mark.parametrize("rank", [-1, 3])
def test_a_rank_outside_the_group_is_refused(rank: int) -> None:
    micro_batch = random_steps.of_documents([8], context=3)
    with pytest.raises(InvalidArgumentError) as error:
        require_cp_rank(micro_batch, rank)
    assert str(error.value) == f"cp_rank: {rank} is not accepted; accepted: 0 to 2"
    require_cp_rank(micro_batch, 2)
