"""Tests that a global batch is packed as Megatron-Core's training step needs it."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections.abc import Iterator
from itertools import pairwise
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from evenpack.errors import FailedPreconditionError, InvalidArgumentError
from numpy.typing import NDArray

with warnings.catch_warnings():
    # Megatron-Core, which this imports, warns of kernels that aren't installed.
    warnings.simplefilter("ignore")
    from evenpack.adapters import megatron_scheduler
    from evenpack.adapters.megatron_scheduler import (
        BalancedScheduler,
        Groups,
        balanced_groups,
    )

MOST = 4096
CASES = [
    pytest.param(
        data, context, group, most, id=f"dp{data}-cp{context}-vp{group}-{most}"
    )
    for data in (1, 2, 3, 8)
    for context in (1, 2, 3)
    for group, most in ((1, None), (3, None), (1, 6), (2, 8))
]


def _samples(
    seed: int = 1, samples: int = 300, multiple: int = 12
) -> list[tuple[int, int]]:
    """Many short ones and a few as long as a micro-batch; ids in no order."""
    random = np.random.default_rng(seed)
    lengths = np.clip(random.lognormal(6.0, 1.3, samples), multiple, MOST)
    ids = random.permutation(samples) + 1000
    padded = lengths.astype(int) // multiple * multiple
    return list(zip(ids.tolist(), padded.tolist(), strict=True))


def _weight(lengths: list[int]) -> float:
    """Of a micro-batch, as the quadratic cost model has it by default."""
    return sum(length * length / 47_000 + length for length in lengths)


def _weights(groups: Groups, samples: list[tuple[int, int]]) -> list[list[float]]:
    """Of each micro-batch and rank."""
    lengths = dict(samples)
    return [[_weight([lengths[i] for i in ids]) for ids in ranks] for ranks in groups]


def _in_order(samples: list[tuple[int, int]], data: int) -> Groups:
    """Filled one after another, which is what Megatron's own scheduler does."""
    packed: list[list[int]] = [[]]
    used = 0
    for sample, length in samples:
        if used + length > MOST:
            packed.append([])
            used = 0
        packed[-1].append(sample)
        used += length
    return [packed[i : i + data] for i in range(0, len(packed) // data * data, data)]


@pytest.mark.parametrize(("data", "context", "group", "most"), CASES)
def test_groups_are_what_megatron_builds_micro_batches_of(
    data: int, context: int, group: int, most: int | None
) -> None:
    samples = _samples()
    groups = balanced_groups(
        samples,
        max_tokens=MOST,
        data_parallel=data,
        context_parallel=context,
        virtual_pipeline_group=group,
        max_samples=most,
    )
    lengths = dict(samples)
    assert len(groups) % group == 0
    seen: list[int] = []
    for ranks in groups:
        assert len(ranks) == data * context
        for rank in range(data):
            same = ranks[rank * context : (rank + 1) * context]
            assert all(ids == same[0] for ids in same)
            assert same[0]
            assert sum(lengths[i] for i in same[0]) <= MOST
            assert most is None or len(same[0]) <= most
            seen += same[0]
    assert sorted(seen) == sorted(lengths)


def test_there_are_no_more_micro_batches_than_needed() -> None:
    samples = [(i, 1024) for i in range(64)]
    assert len(balanced_groups(samples, max_tokens=MOST, data_parallel=2)) == 8
    assert len(balanced_groups(samples, max_tokens=MOST, data_parallel=3)) == 6


class _Tries:
    """The numbers of micro-batches that balanced_groups tries."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tried: list[int] = []
        self.packed = megatron_scheduler._packed
        monkeypatch.setattr(megatron_scheduler, "_packed", self._noted)

    def _noted(
        self, spec: dict[str, Any], lengths: NDArray[np.uint32], micro_batches: int
    ) -> list[list[int]] | None:
        self.tried.append(micro_batches)
        return self.packed(spec, lengths, micro_batches)


@pytest.mark.parametrize(
    ("lengths", "most"),
    [
        ([MOST * 51 // 100] * 200, None),
        ([MOST * 34 // 100] * 400, None),
        ([9] * 800, 4),
    ],
    ids=["over-a-half", "over-a-third", "few-samples"],
)
def test_numbers_that_no_packing_has_are_not_tried(
    monkeypatch: pytest.MonkeyPatch, lengths: list[int], most: int | None
) -> None:
    """Else time grows with the square of the samples."""
    tries = _Tries(monkeypatch)
    groups = balanced_groups(
        list(enumerate(lengths)), max_tokens=MOST, data_parallel=4, max_samples=most
    )
    assert len(groups) == 50
    assert tries.tried == [200]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("most", [None, 3])
def test_the_first_number_that_can_be_packed_is_taken(
    monkeypatch: pytest.MonkeyPatch, seed: int, most: int | None
) -> None:
    """None that is passed over could be."""
    samples = _samples(seed, 120)
    tries = _Tries(monkeypatch)
    balanced_groups(samples, max_tokens=MOST, data_parallel=2, max_samples=most)
    monkeypatch.setattr(megatron_scheduler, "fewest_micro_batches", lambda *_: 1)
    needed = tries.tried[-1]
    tries.tried.clear()
    balanced_groups(samples, max_tokens=MOST, data_parallel=2, max_samples=most)
    assert tries.tried == list(range(2, needed + 1, 2))


@pytest.mark.parametrize("seed", range(5))
def test_micro_batches_take_equally_long(seed: int) -> None:
    """Within what the longest documents allow, unlike those filled in order."""
    samples = [(i, length // 3 // 12 * 12 + 12) for i, length in _samples(seed, 800)]

    def excess(groups: Groups) -> float:
        weights = np.array(_weights(groups, samples)).ravel()
        return float(weights.max() / weights.mean() - 1)

    ours = balanced_groups(samples, max_tokens=MOST, data_parallel=4)
    assert excess(ours) < 0.1
    assert excess(ours) < excess(_in_order(samples, 4))


def test_micro_batches_that_run_at_one_time_are_of_like_weight() -> None:
    """And no rank has the heaviest of each time."""
    samples = _samples(seed=4)
    groups = balanced_groups(samples, max_tokens=MOST, data_parallel=4)
    weights = np.array(_weights(groups, samples))
    assert len(groups) > 3
    for now, later in pairwise(weights):
        assert now.min() >= later.max()
    assert len(set(weights.argmax(axis=1).tolist())) > 1


def test_every_rank_comes_to_the_same_answer_whatever_came_before() -> None:
    scheduler = BalancedScheduler(MOST, 1, 4, None)
    first = scheduler.get_groups_and_subsamples(_samples(seed=1))
    scheduler.get_groups_and_subsamples(_samples(seed=2))
    assert scheduler.get_groups_and_subsamples(_samples(seed=1)) == first
    other = BalancedScheduler(MOST, 1, 4, None)
    assert other.get_groups_and_subsamples(_samples(seed=1)) == first


def test_a_scheduler_asks_for_what_megatron_told_it() -> None:
    scheduler = BalancedScheduler(MOST // 2, 2, 3, 7, max_num_seqs=9)
    assert scheduler.get_groups_and_subsamples(_samples()) == balanced_groups(
        _samples(),
        max_tokens=MOST,
        data_parallel=3,
        context_parallel=2,
        virtual_pipeline_group=7,
        max_samples=9,
    )


def test_padding_of_context_parallelism_counts() -> None:
    """Three samples of 5 tokens take 24 where CP is 2."""
    samples = [(i, 5) for i in range(3)]
    fits = balanced_groups(samples, max_tokens=24, data_parallel=1, context_parallel=2)
    assert fits == [[[0, 1, 2], [0, 1, 2]]]
    more = balanced_groups(samples, max_tokens=16, data_parallel=1, context_parallel=2)
    assert len(more) == 2


def test_balance_is_by_the_given_cost() -> None:
    """Where attention is dear, a long document weighs as much as many short ones."""
    samples = [(0, 2048)] + [(i, 128) for i in range(1, 33)]
    dear = {"quadratic": {"crossover_tokens": 128}}
    cheap = {"quadratic": {"crossover_tokens": 1_000_000_000}}
    alone, others = (
        balanced_groups(samples, max_tokens=MOST, data_parallel=2, cost=cost)
        for cost in (dear, cheap)
    )
    assert [0] in alone[0]
    assert sorted(map(len, others[0])) == [9, 24]


@pytest.mark.parametrize(
    ("samples", "changes", "message"),
    [
        ([(0, MOST + 1), (1, 8)], {}, "seqlen: 4097 is not accepted; accepted: 1 to"),
        ([(0, 8), (1, 0)], {}, "seqlen: 0 is not accepted; accepted: 1 to 4096"),
        ([(0, 8)], {}, "samples: 1 is not accepted; accepted: at least 2"),
        ([(0, 8)] * 5, {"virtual_pipeline_group": 3}, "samples: 5 is not accepted"),
        ([(0, 8)] * 2, {"data_parallel": 0}, "data_parallel: 0 is not accepted"),
        ([(0, 8)] * 2, {"data_parallel": "2"}, "data_parallel: '2' is not accepted"),
        ([(0, 8), (1, "8")], {}, "seqlen: '8' is not accepted"),
        ([(0, 8)] * 2, {"context_parallel": -1}, "context_parallel: -1 is not"),
        ([(0, 8)] * 2, {"max_tokens": 0}, "max_tokens: 0 is not accepted"),
        ([(0, 3000)] * 9, {"data_parallel": 4}, "samples: 27000 tokens is not"),
        ([(0, 1), (1, 1)], {"cost": {"linear": {}}}, "spec: "),
    ],
)
def test_batches_that_cannot_be_packed_are_refused(
    samples: list[tuple[int, Any]], changes: dict[str, Any], message: str
) -> None:
    arguments = {"max_tokens": MOST, "data_parallel": 2} | changes
    with pytest.raises(InvalidArgumentError) as error:
        balanced_groups(samples, **arguments)
    assert str(error.value).startswith(message)


class _Megatrons:
    """A scheduler with the constructor and the run() of Megatron's main branch."""

    def __init__(
        self,
        max_seqlen_per_dp_cp_rank: int,
        cp_size: int,
        dp_size: int,
        microbatch_group_size_per_vp_stage: int | None,
        max_num_seqs: int | None = None,
    ) -> None:
        self.max_seqlen_per_dp_cp_rank = max_seqlen_per_dp_cp_rank
        self.cp_size = cp_size
        self.dp_size = dp_size
        self.microbatch_group_size_per_vp_stage = microbatch_group_size_per_vp_stage
        self.max_num_seqs = max_num_seqs

    def get_groups_and_subsamples(self, _samples: list[tuple[int, int]]) -> Groups:
        raise AssertionError("Megatron's own packing was asked")

    def run(self, samples: list[tuple[int, int]]) -> Groups:
        return self.get_groups_and_subsamples(samples)


@pytest.fixture
def megatron(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What stands for a Megatron-Core that has schedulers."""
    schedule = ModuleType("megatron.core.datasets.data_schedule")
    schedule.__dict__["DpBalancedScheduler"] = _Megatrons
    schedule.__dict__["scheduler_map"] = {"dp_balanced": _Megatrons}
    datasets = ModuleType("megatron.core.datasets")
    datasets.__dict__["data_schedule"] = schedule
    for module in (datasets, schedule):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return SimpleNamespace(**schedule.__dict__)


@pytest.fixture
def adapter(megatron: SimpleNamespace) -> Iterator[ModuleType]:
    """The module as it is where that Megatron-Core is installed."""
    assert megatron.scheduler_map
    spec = megatron_scheduler.__spec__
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module


def test_megatron_gets_our_scheduler_by_its_own_name(
    megatron: SimpleNamespace, adapter: ModuleType
) -> None:
    """And its run() does the rest."""
    installed = adapter.install_scheduler()
    assert megatron.scheduler_map == {"dp_balanced": installed}
    assert issubclass(installed, _Megatrons)
    # As wrap_data_iterator makes it.
    scheduler = megatron.scheduler_map["dp_balanced"](MOST, 1, 2, None, max_num_seqs=7)
    expected = balanced_groups(
        _samples(), max_tokens=MOST, data_parallel=2, max_samples=7
    )
    assert scheduler.run(_samples()) == expected


def test_an_installed_scheduler_keeps_its_cost(
    megatron: SimpleNamespace, adapter: ModuleType
) -> None:
    cost = {"quadratic": {"crossover_tokens": 128}}
    adapter.install_scheduler("dear", cost)
    adapter.install_scheduler("default")
    dear, default = (
        megatron.scheduler_map[name](MOST, 1, 2, None) for name in ("dear", "default")
    )
    expected = balanced_groups(_samples(), max_tokens=MOST, data_parallel=2, cost=cost)
    assert dear.run(_samples()) == expected
    assert default.run(_samples()) != expected


def test_a_megatron_without_schedulers_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    datasets = ModuleType("megatron.core.datasets")
    schedule = ModuleType("megatron.core.datasets.data_schedule")
    datasets.__dict__["data_schedule"] = schedule
    monkeypatch.setitem(sys.modules, datasets.__name__, datasets)
    with pytest.raises(FailedPreconditionError, match="no packing schedulers"):
        megatron_scheduler.install_scheduler()
    del datasets.__dict__["data_schedule"]
    monkeypatch.setitem(sys.modules, schedule.__name__, None)
    with pytest.raises(FailedPreconditionError, match="no packing schedulers"):
        megatron_scheduler.install_scheduler()


@pytest.mark.skipif(
    BalancedScheduler.__mro__[1] is not megatron_scheduler._DocumentedScheduler,
    reason="this Megatron-Core has schedulers",
)
def test_a_scheduler_without_megatron_packs_but_does_not_run() -> None:
    scheduler = BalancedScheduler(MOST, 1, 2, None)
    assert scheduler.get_groups_and_subsamples(_samples())
    with pytest.raises(FailedPreconditionError, match="DpBalancedScheduler"):
        scheduler.run(iter([]), 1)
