"""Whether a micro-batch was packed for what a layout's consumer can take."""

from __future__ import annotations

from collections.abc import Sequence

from evenpack._native import MicroBatch
from evenpack.invalid_argument import checked_integer, invalid_argument

# They have one rule of padding: each document to a multiple of 2 * CP.
HEAD_TAIL_LAYOUTS = ("megatron_thd", "te_thd", "pytorch_cp")


def require_layout(micro_batch: MicroBatch, accepted: Sequence[str]) -> None:
    """Refuses a micro-batch that was padded for others.

    Any job's will do where context_parallel is 1: nothing is cut then.

    Args:
        micro_batch: of any job.
        accepted: values of `MicroBatch.layout`.

    Raises:
        InvalidArgumentError: it is of another layout.
    """
    if micro_batch.context_parallel != 1 and micro_batch.layout not in accepted:
        names = " or ".join(accepted)
        raise invalid_argument(
            "layout", micro_batch.layout, f"{names}, or any with context_parallel 1"
        )


def require_sharding(micro_batch: MicroBatch, accepted: str) -> None:
    """Refuses a micro-batch that is cut in another way, if it is cut at all.

    Args:
        micro_batch: of any job.
        accepted: the value of `MicroBatch.sharding` that will do.

    Raises:
        InvalidArgumentError: it has another, and context_parallel is above 1.
    """
    if micro_batch.context_parallel != 1 and micro_batch.sharding != accepted:
        raise invalid_argument(
            "sharding", micro_batch.sharding, f"{accepted} with context_parallel > 1"
        )


def require_cp_rank(micro_batch: MicroBatch, cp_rank: int) -> None:
    """Refuses a rank that the context-parallel group doesn't have.

    Raises:
        InvalidArgumentError: not in 0 to context_parallel - 1.
    """
    checked_integer("cp_rank", cp_rank, 0, micro_batch.context_parallel - 1)
