"""Ranks of a torch.distributed run as processes, over Gloo."""

from __future__ import annotations

import faulthandler
import gc
import tempfile
from collections.abc import Callable
from pathlib import Path


def _rank(
    rank: int,
    ranks: int,
    meeting: str,
    body: Callable[..., None],
    given: tuple[object, ...],
) -> None:
    import torch.distributed as dist

    # A signal that ends it shows where.
    faulthandler.enable()
    dist.init_process_group(
        "gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks
    )
    try:
        body(*given)
        dist.barrier()
    finally:
        # What exceptions still hold may hold the group, whose threads then go on while
        # the interpreter ends: now and then PyTorch aborts the process.
        gc.collect()
        dist.destroy_process_group()


def run_ranks(ranks: int, body: Callable[..., None], *given: object) -> None:
    """Runs body(*given) on each rank; raises what one of them raised."""
    import torch.multiprocessing

    # In a file, since a port that is free now may be another's when it is needed.
    with tempfile.TemporaryDirectory() as folder:
        meeting = str(Path(folder) / "meeting")
        torch.multiprocessing.start_processes(  # type: ignore[attr-defined,no-untyped-call]
            _rank, (ranks, meeting, body, given), ranks, start_method="forkserver"
        )
