"""One rank of a launch: its steps, from a checkpoint to the next launch or the end.

Rank 0 tells the launcher how it goes: {"resumed": first step}, then {"step", "loss",
"digest"} behind each step, and at the end {"ended": next step, "drained", "weights",
"account"}. It goes on when the launcher has heard it: so what the launcher does behind
a step happens before the step after the next.
"""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeAlias

import torch
import torch.distributed as dist
from evenpack import PackedDataset, ServerOptions
from evenpack.corpora import IndexedDataset, LengthCorpus

from tiny_training.attention_group import join_group
from tiny_training.documents import document_lengths, packed_documents
from tiny_training.launch import Launch
from tiny_training.replica import Replica
from tiny_training.sizes import CONTEXT_PARALLEL, job_spec
from tiny_training.step_training import StepTrainer
from tiny_training.token_ledger import TokenLedger

# Records one way, None the other.
Launcher: TypeAlias = "Connection[dict[str, object], None]"


class _Reports:
    """What rank 0 tells the launcher; nothing on the others."""

    def __init__(self, launcher: Launcher | None) -> None:
        """Of rank 0 where there is a connection."""
        self._launcher = launcher

    def tell(self, **record: object) -> None:
        """One record; EOFError: the launcher is gone."""
        if self._launcher is not None:
            self._launcher.send(record)
            self._launcher.recv()


def _write_to(log: Path) -> None:
    """Has everything that is written for people go to a file, libraries' lines too."""
    with log.open("w", encoding="utf-8") as file:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(file.fileno(), stream.fileno())


def _open_dataset(launch: Launch, rank: int, lengths: LengthCorpus) -> PackedDataset:
    """The rank's steps: decided by the server, or here."""
    dp_rank, cp_rank = divmod(rank, CONTEXT_PARALLEL)
    if launch.address is None:
        spec = job_spec(launch.shape, launch.data_parallel)
        return PackedDataset(
            spec=spec, lengths=lengths, dp_rank=dp_rank, cp_rank=cp_rank
        )
    # Hardly a step is fetched ahead, so that a server that was killed is missed.
    options = ServerOptions(sends_durable=cp_rank == 0, credits=1, max_buffered_bytes=1)
    return PackedDataset(
        launch.address,
        job=launch.job,
        dp_rank=dp_rank,
        cp_rank=cp_rank,
        options=options,
    )


class _Rank:
    """A rank's way through the steps of a launch."""

    def __init__(
        self, launch: Launch, dataset: PackedDataset, trainer: StepTrainer
    ) -> None:
        self._launch = launch
        self._dataset = dataset
        self._trainer = trainer

    def _save(self) -> None:
        """A checkpoint; the server may let go of the steps before it."""
        self._trainer.replica.save(self._launch.checkpoint, self._dataset)
        if self._trainer.cp_rank == 0:
            self._dataset.ack_durable()

    def run(self, first_step: int, reports: _Reports) -> None:
        """Trains until the launch's last step, or until there is none."""
        replica, last = self._trainer.replica, self._launch.last_step
        # 0 where the last checkpoint is behind the last step already.
        wanted = None if last is None else max(last + 1 - first_step, 0)
        done, saved = 0, 0
        for step in islice(self._dataset, wanted):
            loss = self._trainer.train(step)
            done += 1
            reports.tell(step=step.index, loss=loss, digest=step.digest.hex())
            if (step.index + 1) % self._launch.shape.save_every == 0:
                self._save()
                saved = done
        if done > saved:
            self._save()
        reports.tell(
            ended=first_step + done,
            drained=done != wanted,
            weights=replica.digest_of_weights(),
            account=asdict(replica.account()),
        )


def run_rank(launch: Launch, rank: int, launcher: Launcher | None) -> None:
    """What a rank's process does.

    Args:
        launch: which it is of.
        rank: of torch.distributed; the CP ranks of a DP rank follow one another.
        launcher: rank 0's connection to it; None on the others.
    """
    _write_to(launch.log(rank))
    # One thread adds in one order.
    torch.set_num_threads(1)
    reports = _Reports(launcher)
    dist.init_process_group(
        "gloo",
        init_method=launch.rendezvous.as_uri(),
        rank=rank,
        world_size=launch.ranks,
    )
    corpus = IndexedDataset(launch.corpus)
    replica = Replica(launch.shape, TokenLedger(document_lengths(corpus)))
    position = replica.load(launch.checkpoint)
    with _open_dataset(launch, rank, packed_documents(corpus)) as dataset:
        if position is not None:
            dataset.load_state_dict(position)
            # Ranks may have been killed between the checkpoint and their mark.
            if rank % CONTEXT_PARALLEL == 0:
                dataset.ack_durable()
        first_step = 0 if position is None else position["next_step"]
        reports.tell(resumed=first_step)
        group = join_group(launch, rank, dataset)
        with group.worker:
            trainer = StepTrainer(replica, corpus, group, rank % CONTEXT_PARALLEL)
            _Rank(launch, dataset, trainer).run(first_step, reports)
    dist.destroy_process_group()
