"""Ranks of a torch.distributed run as processes, over Gloo."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import closing


def _free_port() -> int:
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _rank(
    rank: int,
    ranks: int,
    port: int,
    body: Callable[..., None],
    given: tuple[object, ...],
) -> None:
    import torch.distributed as dist

    dist.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks
    )
    try:
        body(*given)
        dist.barrier()
    finally:
        dist.destroy_process_group()


def run_ranks(ranks: int, body: Callable[..., None], *given: object) -> None:
    """Runs body(*given) on each rank; raises what one of them raised."""
    import torch.multiprocessing

    torch.multiprocessing.spawn(  # type: ignore[attr-defined,no-untyped-call]
        _rank, (ranks, _free_port(), body, given), nprocs=ranks
    )
