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
from evenpack.attention_workers.worker_device import (
    DEFAULT_MEMORY_BYTES,
    checked_device,
    computing_on,
)
from evenpack.client import Client
from evenpack.invalid_argument import (
    check_class,
    check_seconds,
    checked_integer,
    checked_text,
    checked_uint32,
)
from evenpack.sessions_at_exit import end_at_exit

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

_MOST_THREADS = 1024
_MOST_HEAD_GROUPS = 1024


def member_name() -> str:
    """Of this process, and of no other before or after it."""
    return f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:12]}"


@dataclass(frozen=True)
class InProcessOptions:
    """How a rank computes, and how it and its peers reach each other.

    Attributes:
        device: where it computes: "cpu", "cuda" for PyTorch's present device, or
            "cuda:N". Peers are met by Gloo or by NCCL.
        memory_bytes: of a CUDA device, that passes may take beside the tensors.
        host: on the processor, the address that the peers reach this rank at; any free
            port.
        threads: on the processor, that compute, at most 1,024; 0: as many as PyTorch
            has.
        head_groups: keys and values are exchanged in as many groups of heads, one while
            the last is computed with; 1 to 1,024. The same on all ranks.
        connect_seconds: how long ranks wait for each other's connections; 0.001 to
            10^6.
        exchange_seconds: and for each other in an exchange; likewise.
        patience_seconds: how long a rank waits for all to be there and take part in an
            exchange, at first and after one was lost or hung; looked at between
            exchanges. 0 to 10^9.
    """

    device: torch.device | str = "cpu"
    memory_bytes: int = DEFAULT_MEMORY_BYTES
    host: str = "127.0.0.1"
    threads: int = 0
    head_groups: int = 4
    connect_seconds: float = 60.0
    exchange_seconds: float = 600.0
    patience_seconds: float = 1800.0

    def __post_init__(self) -> None:
        """Looks at the fields, and has numbers as Python's own.

        Raises:
            InvalidArgumentError: one that can't be.
        """
        checked_device(self.device)
        checked_text("host", self.host)
        own = {
            "memory_bytes": checked_integer("memory_bytes", self.memory_bytes, 1),
            "threads": checked_integer("threads", self.threads, 0, _MOST_THREADS),
            "head_groups": checked_integer(
                "head_groups", self.head_groups, 1, _MOST_HEAD_GROUPS
            ),
        }
        for name, value in own.items():
            object.__setattr__(self, name, value)
        check_seconds("connect_seconds", self.connect_seconds, 0.001, 1e6)
        check_seconds("exchange_seconds", self.exchange_seconds, 0.001, 1e6)
        check_seconds("patience_seconds", self.patience_seconds, 0, 1e9)

    def form(self) -> _worker.Form:
        """What the rank computes with; errors as computing_on()."""
        return computing_on(
            self.device,
            threads=self.threads or torch.get_num_threads(),
            memory_bytes=self.memory_bytes,
            host=self.host,
            connect_seconds=self.connect_seconds,
            exchange_seconds=self.exchange_seconds,
        )


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


def _given(options: InProcessOptions | None) -> InProcessOptions:
    """They, or the defaults; InvalidArgumentError: others."""
    if options is None:
        return InProcessOptions()
    accepted = "an InProcessOptions, or None"
    check_class("options", options, InProcessOptions, accepted)
    return options


class InProcessWorker(NativePasses):
    """A rank that computes in this process.

    On the processor with threads of its own: of float32 tensors results don't depend on
    their number. On a CUDA device passes are given to it and not waited for: they come
    after what PyTorch's current stream has been given, and before what that is given
    next.
    """

    def __init__(
        self,
        native: _worker.InProcess,
        form: _worker.Form,
        cp_rank: int,
        cp_size: int,
    ) -> None:
        """As join() and over() make it."""
        super().__init__(native, form, cp_rank, cp_size)
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

        Raises:
            InvalidArgumentError: a rank that is none of the job's, or an argument of
                another class.
        """
        check_class("client", client, Client, "a Client")
        given = _given(options)
        job, member = checked_text("job", job), member or member_name()
        member = checked_text("member", member)
        dp_rank = checked_uint32("dp_rank", dp_rank)
        if cp_size is None:
            cp_size = client.get_job(job).spec.parallelism.context
        cp_size = checked_uint32("cp_size", cp_size, 1)
        cp_rank = checked_integer("cp_rank", cp_rank, 0, cp_size - 1)
        form = given.form()
        seat = client.native.join_group(job, dp_rank, cp_size, cp_rank, member)
        native = _worker.InProcess.join(
            seat,
            form,
            rank=cp_rank,
            ranks=cp_size,
            patience_seconds=given.patience_seconds,
            head_groups=given.head_groups,
        )
        return cls(native, form, cp_rank, cp_size)

    @classmethod
    def over(
        cls, group: ProcessGroup, *, options: InProcessOptions | None = None
    ) -> InProcessWorker:
        """A rank that finds its peers through a torch.distributed group.

        For a trainer without a server. All ranks of the group call it. The connections
        are made once: a rank that is lost, or leaves a step by an exception, ends the
        worker of all, as it ends the group. Its own error says why.

        Args:
            group: the context-parallel group.
            options: threads, addresses, time-outs.

        Raises:
            InvalidArgumentError: no group, as where this process is in none.
        """
        import torch.distributed as dist

        accepted = "a torch.distributed.ProcessGroup that this process is in"
        check_class("group", group, dist.ProcessGroup, accepted)
        given = _given(options)
        rank, ranks = dist.get_rank(group), dist.get_world_size(group)
        form = given.form()
        endpoint = _worker.Endpoint(form, rank=rank, ranks=ranks)
        addresses: list[bytes] = [b""] * ranks
        dist.all_gather_object(addresses, endpoint.address, group=group)
        native = _worker.InProcess.over(
            endpoint,
            addresses,
            patience_seconds=given.patience_seconds,
            head_groups=given.head_groups,
        )
        return cls(native, form, rank, ranks)

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
