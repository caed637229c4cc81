"""A packing scheduler of Megatron-Core that balances by predicted time.

    from evenpack.adapters.megatron_scheduler import install_scheduler

    install_scheduler()

before training, with --sequence-packing-scheduler dp_balanced.

Megatron's training step (on its main branch since August 2026; no release up to 0.16.1
has it) makes a scheduler anew for each global batch, hands it the lengths of all
samples of that batch, and asserts that its answer has every one of them. So this can do
less than a job does:

- Documents are balanced within each global batch, over all of its micro-batches, by the
  time that the cost model predicts. Each batch is decided by itself: the same lengths
  give the same answer on every rank and after every resume, with no state to save.
- No document is held back for a later batch. A batch with one very long document is
  only as balanced as that allows: outlier delay needs the steps of a PackedDataset,
  handed to Megatron as `evenpack.layouts.megatron_thd_batch`.
- How many samples a batch has, where they come from, and where a run resumes remain the
  business of Megatron's dataset and sampler.

What was read of Megatron-Core's main branch is `data_schedule.py`,
`data_schedule_utils.py`, their tests and their readme; nothing was run there. The class
is a DpBalancedScheduler where that can be imported, which does all but the packing:
collecting lengths, sending samples to their ranks, building THD batches. Elsewhere it
has the documented constructor and `get_groups_and_subsamples`, and `run` raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from evenpack._native import LocalJob, Spec, Step
from evenpack.adapters.fewest_micro_batches import fewest_micro_batches
from evenpack.errors import FailedPreconditionError
from evenpack.invalid_argument import (
    checked_integer,
    checked_uint32,
    invalid_argument,
)
from evenpack.spec import job_spec


class _DocumentedScheduler:
    """What stands for Megatron's DpBalancedScheduler where there is none."""

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

    def run(self, *_arguments: object, **_keywords: object) -> NoReturn:
        raise _no_schedulers()


if TYPE_CHECKING:
    _DpBalancedScheduler = _DocumentedScheduler
else:
    try:
        from megatron.core.datasets.data_schedule import (
            DpBalancedScheduler as _DpBalancedScheduler,
        )
    except ImportError:
        _DpBalancedScheduler = _DocumentedScheduler

_STREAM = "batch"

# Groups[i][r]: the samples that rank r of the DP x CP group has in micro-batch i.
Groups = list[list[list[int]]]


def _no_schedulers() -> FailedPreconditionError:
    return FailedPreconditionError(
        "this Megatron-Core has no packing schedulers; accepted: one whose "
        "megatron.core.datasets.data_schedule has DpBalancedScheduler"
    )


class BalancedScheduler(_DpBalancedScheduler):
    """Megatron's scheduler, with micro-batches that take equally long.

    Its constructor is Megatron's: the tokens that a rank may have in a micro-batch, CP,
    DP, micro-batches that an interleaved pipeline takes together (or None), and how
    many samples a micro-batch may have (or None).

    Attributes:
        cost: fields of an evenpack.v1.Cost, by which time is predicted; None: quadratic
            with a crossover of 47,000 tokens. Of the class, since Megatron makes the
            objects.
    """

    cost: ClassVar[Mapping[str, Any] | None] = None

    def get_groups_and_subsamples(
        self, sample_id_seqlens: Sequence[tuple[int, int]]
    ) -> Groups:
        """Which samples each rank has in each micro-batch.

        Args:
            sample_id_seqlens: (id, tokens with padding) of each sample.

        Raises:
            InvalidArgumentError: as `balanced_groups`.
        """
        return balanced_groups(
            sample_id_seqlens,
            max_tokens=self.max_seqlen_per_dp_cp_rank * self.cp_size,
            data_parallel=self.dp_size,
            context_parallel=self.cp_size,
            virtual_pipeline_group=self.microbatch_group_size_per_vp_stage or 1,
            max_samples=self.max_num_seqs,
            cost=self.cost,
        )


def install_scheduler(
    name: str = "dp_balanced", cost: Mapping[str, Any] | None = None
) -> type[BalancedScheduler]:
    """Has Megatron use BalancedScheduler, in this process, under a name.

    Megatron's arguments know but its own names, so ours takes the place of one.

    Args:
        name: what --sequence-packing-scheduler says.
        cost: as the scheduler's `cost`.

    Returns:
        The class that Megatron will use.

    Raises:
        FailedPreconditionError: this Megatron-Core has no packing schedulers.
    """
    try:
        from megatron.core.datasets import data_schedule
    except ImportError as error:
        raise _no_schedulers() from error
    known = getattr(data_schedule, "scheduler_map", None)
    if known is None:
        raise _no_schedulers()
    scheduler = type("BalancedScheduler", (BalancedScheduler,), {"cost": cost})
    known[name] = scheduler
    return scheduler


def balanced_groups(
    sample_id_seqlens: Sequence[tuple[int, int]],
    *,
    max_tokens: int,
    data_parallel: int,
    context_parallel: int = 1,
    virtual_pipeline_group: int = 1,
    max_samples: int | None = None,
    cost: Mapping[str, Any] | None = None,
) -> Groups:
    """Packs a global batch in as few micro-batches as its samples fit in.

    Ranks run their i-th micro-batches at one time, so these are of like weight.

    Args:
        sample_id_seqlens: (id, tokens) of each sample. Tokens are counted as if padded
            to a multiple of 2 * CP, where CP is above 1.
        max_tokens: of a micro-batch, all CP ranks together.
        data_parallel: DP.
        context_parallel: CP; its ranks have the same samples.
        virtual_pipeline_group: the number of micro-batches is a multiple of this.
        max_samples: of a micro-batch; None: any number.
        cost: fields of an evenpack.v1.Cost; None: its default.

    Returns:
        [micro-batches][DP * CP] lists of ids, none of which is empty; rank r of the
        DP x CP group is of DP rank r // CP.

    Raises:
        InvalidArgumentError: a sample longer than max_tokens, fewer samples than ranks
            and pipeline group take, or a number out of its range.
    """
    max_tokens = checked_uint32("max_tokens", max_tokens, 1)
    data_parallel = checked_uint32("data_parallel", data_parallel, 1)
    context_parallel = checked_uint32("context_parallel", context_parallel, 1)
    virtual_pipeline_group = checked_uint32(
        "virtual_pipeline_group", virtual_pipeline_group, 1
    )
    if max_samples is not None:
        max_samples = checked_uint32("max_samples", max_samples)
    lengths = _checked_lengths(sample_id_seqlens, max_tokens)
    multiple = data_parallel * virtual_pipeline_group
    most = len(lengths) // multiple * multiple
    if most == 0:
        accepted = f"at least {multiple}, one for each micro-batch"
        raise invalid_argument("samples", len(lengths), accepted)
    spec = {
        "streams": [{"name": _STREAM}],
        "window": max_tokens,
        # What is given is packed at once: nothing may wait for another batch.
        "policy": {"wlb": {}},
        "parallelism": {"context": context_parallel},
        "consumer_layout": {
            "layout": "LAYOUT_MEGATRON_THD",
            "max_documents": max_samples or 0,
        },
        "cost": cost or {},
    }
    fewest = fewest_micro_batches(lengths, max_tokens, max_samples)
    for count in range(-(-fewest // multiple) * multiple, most + 1, multiple):
        packed = _packed(spec, lengths, count)
        if packed is not None:
            ids = [[sample_id_seqlens[i][0] for i in samples] for samples in packed]
            return _by_rank(ids, data_parallel, context_parallel)
    accepted = f"what fits in {most} micro-batches of {max_tokens} tokens"
    raise invalid_argument("samples", f"{lengths.sum(dtype=np.int64)} tokens", accepted)


def _checked_lengths(
    sample_id_seqlens: Sequence[tuple[int, int]], max_tokens: int
) -> NDArray[np.uint32]:
    tokens = (checked_integer("seqlen", n, 1, max_tokens) for _, n in sample_id_seqlens)
    return np.fromiter(tokens, np.uint32)


def _packed(
    spec: dict[str, Any], lengths: NDArray[np.uint32], micro_batches: int
) -> list[list[int]] | None:
    """The samples of each micro-batch, heaviest first; None: they don't all fit."""
    parallelism = spec["parallelism"] | {"micro_batches_per_rank": micro_batches}
    fields = spec | {"parallelism": parallelism}
    job = LocalJob.create(job_spec(fields).SerializeToString())
    job.add(_STREAM, 0, lengths, None, None, None)
    job.end_of_stream(_STREAM)
    message = job.take_step(0, None)
    # All documents are there and no other follows, so the step is decided.
    assert message is not None
    step = Step.read(message, Spec(job.spec))
    found = sorted(
        (step[i] for i in range(len(step))),
        key=lambda micro_batch: (-micro_batch.workload_ns, micro_batch.index),
    )
    packed = [micro_batch.sequence.tolist() for micro_batch in found]
    whole = sum(map(len, packed)) == len(lengths) and all(packed)
    return packed if whole else None


def _by_rank(
    heaviest_first: list[list[int]], data_parallel: int, context_parallel: int
) -> Groups:
    """Deals them out, each rank one at a time, in turns from the first and the last."""
    groups: Groups = []
    for first in range(0, len(heaviest_first), data_parallel):
        at_one_time = heaviest_first[first : first + data_parallel]
        if len(groups) % 2 == 1:
            at_one_time.reverse()
        groups.append([ids for ids in at_one_time for _ in range(context_parallel)])
    return groups
