"""The processes of a launch, started together and ended together."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import wait
from pathlib import Path
from types import TracebackType
from typing import Any

from tiny_training.launch import Launch
from tiny_training.rank import run_rank

# What rank 0 tells; see rank.py.
Record = dict[str, Any]

# Ranks are forked from a process that has imported PyTorch and done nothing else: two
# seconds once, and not for each rank of each launch. Optimizers import torch._dynamo.
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["evenpack.sharded_attention", "torch._dynamo"])


class RankLostError(Exception):
    """A rank has ended before its time."""


def _last_lines(log: Path) -> str:
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return " | ".join(line.strip() for line in text.splitlines()[-3:])


class RankProcesses:
    """One process a rank. Leaving the context kills those that are left."""

    def __init__(self, launch: Launch) -> None:
        """Starts them."""
        self._launch = launch
        self._reports, theirs = _CONTEXT.Pipe()
        self._processes = [
            _CONTEXT.Process(
                target=run_rank,
                args=(launch, rank, None if rank else theirs),
                daemon=True,
            )
            for rank in range(launch.ranks)
        ]
        for process in self._processes:
            process.start()
        # That its end is seen when rank 0 ends.
        theirs.close()

    def records(self) -> Iterator[Record]:
        """What rank 0 tells, until all ranks have ended well.

        Raises:
            RankLostError: one has ended otherwise.
        """
        running = {process.sentinel: i for i, process in enumerate(self._processes)}
        told = [self._reports]
        while told or running:
            ready = wait([*told, *running])
            if self._reports in ready:
                try:
                    record = self._reports.recv()
                    # It goes on.
                    self._reports.send(None)
                except (EOFError, OSError):
                    told.clear()
                else:
                    yield record
                    continue
            for sentinel in running.keys() & set(ready):
                self._check_ended(running.pop(sentinel))

    def _check_ended(self, rank: int) -> None:
        process = self._processes[rank]
        process.join()
        if process.exitcode != 0:
            wrote = _last_lines(self._launch.log(rank))
            raise RankLostError(
                f"rank {rank} of launch {self._launch.number} ended with status "
                f"{process.exitcode}{'; ' if wrote else ''}{wrote}"
            )

    def kill(self, rank: int) -> None:
        """SIGKILL for a rank."""
        self._processes[rank].kill()

    def __enter__(self) -> RankProcesses:
        """The processes, which run."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Kills what still runs."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()
            process.close()
        with suppress(OSError):
            self._reports.close()
