"""Whether all ranks of a run are at the same step of the same history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenpack._native import Step
from evenpack.errors import DataLossError
from evenpack.invalid_argument import invalid_argument, quoted

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


def compare_digests(step: Step, group: ProcessGroup | None = None) -> None:
    """Compares a step's index and digest over the ranks of a torch.distributed group.

    A collective: every rank calls it. The digest covers all micro-batches of the step
    and of those before, so that ranks of different DP have the same.

    Args:
        step: this rank's.
        group: the ranks that compare; all of them if None.

    Raises:
        InvalidArgumentError: no Step, on the rank that gave it alone.
        DataLossError: on every rank, naming those that differ from the first.
    """
    import torch.distributed as dist

    if not isinstance(step, Step):
        raise invalid_argument("step", quoted(step), "a Step")
    mine = (step.index, step.digest)
    found = [mine] * dist.get_world_size(group)
    dist.all_gather_object(found, mine, group=group)
    different = [rank for rank, theirs in enumerate(found) if theirs != found[0]]
    if different:
        rank = different[0]
        raise DataLossError(
            f"step: rank 0 is at step {found[0][0]} with digest {found[0][1].hex()}, "
            f"rank {rank} at step {found[rank][0]} with {found[rank][1].hex()}; "
            f"ranks that differ from rank 0: {different}"
        )
