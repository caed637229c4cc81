"""A rank's attention within its trainer's process."""

from __future__ import annotations

import os
import socket
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from evenpack._native import MicroBatch
from evenpack.attention_workers.attention_form import AttentionForm
from evenpack.attention_workers.native_passes import NativePasses
from evenpack.attention_workers.native_worker import _worker
from evenpack.client import Client
from evenpack.sessions_at_exit import end_at_exit

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


def member_name() -> str:
    """Of this process, and of no other before or after it."""
    return f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:12]}"


@dataclass(frozen=True)
class InProcessOptions:
    """How a rank computes, and how it and its peers reach each other.

    Attributes:
        host: the address that the peers reach this rank at; any free port.
        threads: that compute; 0: as many as PyTorch has.
        head_groups: keys and values are exchanged in as many groups of heads, one while
            the last is computed with.
        connect_seconds: how long ranks wait for each other's connections.
        exchange_seconds: and for each other in an exchange.
        patience_seconds: how long a rank waits for all to be there, at first and after
            one was lost.
    """

    host: str = "127.0.0.1"
    threads: int = 0
    head_groups: int = 4
    connect_seconds: float = 60.0
    exchange_seconds: float = 600.0
    patience_seconds: float = 1800.0

    def compute_threads(self) -> int:
        """That compute."""
        return self.threads or torch.get_num_threads()


@dataclass(frozen=True)
class MicroBatchTimes:
    """What a rank measured of one micro-batch of a step, over all layers.

    Attributes:
        micro_batch: its index within the step.
        forward_passes: layers that were computed.
        backward_passes: likewise.
        forward_ns: nanoseconds of computing, waits apart.
        backward_ns: likewise.
        waited_ns: nanoseconds of waiting for peers, in passes of both kinds.
    """

    micro_batch: int
    forward_passes: int
    backward_passes: int
    forward_ns: int
    backward_ns: int
    waited_ns: int


class InProcessWorker(NativePasses):
    """A rank that computes in this process, with threads of its own.

    Of float32 tensors results don't depend on the number of threads.
    """

    def __init__(self, native: _worker.InProcess, cp_rank: int, cp_size: int) -> None:
        """As join() and over() make it."""
        super().__init__(native, cp_rank, cp_size)
        self._native = native
        end_at_exit(native)

    @classmethod
    def join(
        cls,
        client: Client,
        *,
        job: str,
        dp_rank: int,
        cp_rank: int,
        cp_size: int | None = None,
        member: str | None = None,
        options: InProcessOptions | None = None,
    ) -> InProcessWorker:
        """A rank that finds its peers through the packing server.

        A peer that is restarted is waited for, and the step done again; the server may
        be away meanwhile.

        Args:
            client: of the server.
            job: whose context-parallel groups.
            dp_rank: which of them.
            cp_rank: this rank within it.
            cp_size: the job's; asked for if left out.
            member: names this process, and no other before or after it, 1 to 256
                bytes; made up if left out. A newer member takes the rank over.
            options: threads, addresses, time-outs.
        """
        given = options or InProcessOptions()
        if cp_size is None:
            cp_size = client.get_job(job).spec.parallelism.context
        seat = client.native.join_group(
            job, dp_rank, cp_size, cp_rank, member or member_name()
        )
        native = _worker.InProcess.join(
            seat,
            host=given.host,
            rank=cp_rank,
            ranks=cp_size,
            connect_seconds=given.connect_seconds,
            exchange_seconds=given.exchange_seconds,
            patience_seconds=given.patience_seconds,
            threads=given.compute_threads(),
            head_groups=given.head_groups,
        )
        return cls(native, cp_rank, cp_size)

    @classmethod
    def over(
        cls, group: ProcessGroup, *, options: InProcessOptions | None = None
    ) -> InProcessWorker:
        """A rank that finds its peers through a torch.distributed group.

        For a trainer without a server. All ranks of the group call it. The connections
        are made once: a rank that is lost ends the worker of all, as it ends the group.

        Args:
            group: the context-parallel group.
            options: threads, addresses, time-outs.
        """
        import torch.distributed as dist

        given = options or InProcessOptions()
        rank, ranks = dist.get_rank(group), dist.get_world_size(group)
        endpoint = _worker.Endpoint(
            host=given.host,
            rank=rank,
            ranks=ranks,
            connect_seconds=given.connect_seconds,
            exchange_seconds=given.exchange_seconds,
        )
        addresses: list[bytes] = [b""] * ranks
        dist.all_gather_object(addresses, endpoint.address, group=group)
        native = _worker.InProcess.over(
            endpoint,
            addresses,
            patience_seconds=given.patience_seconds,
            threads=given.compute_threads(),
            head_groups=given.head_groups,
        )
        return cls(native, rank, ranks)

    @property
    def epoch(self) -> int:
        """Of the group's connections; 0 before the first step."""
        return self._native.epoch

    @property
    def step_times(self) -> list[MicroBatchTimes]:
        """Of the last step that was executed, in the attempt that counted."""
        return [MicroBatchTimes(*row) for row in self._native.step_times]

    def begin_step(self, step: int) -> None:
        """As AttentionWorker."""
        super().begin_step(step)
        self._native.begin_step(step)

    def end_step(self, _: int) -> None:
        """As AttentionWorker."""
        self._native.end_step()

    def abandon_step(self, why: str) -> None:
        """As AttentionWorker."""
        self._native.abandon(why)

    def prepare(self, micro_batch: MicroBatch, form: AttentionForm) -> _worker.Prepared:
        """Within a step that has begun."""
        _ = self.step
        return super().prepare(micro_batch, form)

    def close(self) -> None:
        """Leaves the group; later calls raise CancelledError."""
        self._native.end()
