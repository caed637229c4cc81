"""A rank's attention in a process beside its trainer's."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch
from torch import Tensor

from evenpack import _native
from evenpack._native import MicroBatch
from evenpack.attention_workers.arena_memory import ArenaMemory, DeviceArenaMemory
from evenpack.attention_workers.attention_form import AttentionForm
from evenpack.attention_workers.in_process import member_name
from evenpack.attention_workers.native_worker import _worker
from evenpack.attention_workers.worker import AttentionWorker, ForwardPass
from evenpack.attention_workers.worker_device import checked_device
from evenpack.errors import FailedPreconditionError, UnavailableError
from evenpack.invalid_argument import (
    check_class,
    check_seconds,
    checked_bytes,
    checked_integer,
    checked_path,
    checked_text,
    checked_uint32,
    invalid_argument,
    quoted,
)
from evenpack.security import Security
from evenpack.transport import Transport
from evenpack.v1.cost_profile_pb2 import ElementType
from evenpack.v1.worker_service_pb2 import (
    AttentionShape,
    CloseSessionRequest,
    OpenSessionRequest,
    OpenSessionResponse,
)

_SERVICE = "/evenpack.v1.WorkerService/"
_CLOSE_SECONDS = 10.0
_TYPES = {
    torch.float32: ElementType.ELEMENT_TYPE_FLOAT32,
    torch.bfloat16: ElementType.ELEMENT_TYPE_BFLOAT16,
    torch.float16: ElementType.ELEMENT_TYPE_FLOAT16,
}


@dataclass(frozen=True)
class _Pass:
    """A forward pass, as its backward pass must name it."""

    step: int
    micro_batch: MicroBatch


def _shape(form: AttentionForm) -> AttentionShape:
    return AttentionShape(
        type=_TYPES[form.dtype],
        query_heads=form.query_heads,
        kv_heads=form.kv_heads,
        head_size=form.head_size,
        scale=form.scale,
        sliding_window=form.sliding_window,
    )


class SidecarWorker(AttentionWorker):
    """The trainer's end of an `evenpack-worker --serve`.

    Tensors are copied into the memory that both processes map, and results out of it.
    The worker follows the rank's steps by itself, in order; the trainer executes the
    same. What the worker measures it reports by itself.

    On the processor a pass is waited for. On a CUDA device it comes after what
    PyTorch's current stream has been given, and before what that is given next; what a
    pass fails with is raised at its step's end at the latest.
    """

    def __init__(
        self,
        socket_folder: str | Path,
        *,
        job: str,
        dp_rank: int,
        cp_rank: int,
        form: AttentionForm,
        from_step: int = 0,
        last_digest: bytes | None = None,
        member: str | None = None,
        device: torch.device | str = "cpu",
        head_groups: int = 0,
        arena_bytes: int = 1 << 30,
        open_seconds: float = 600.0,
    ) -> None:
        """Attaches, and opens a session.

        Args:
            socket_folder: the worker's --socket-folder.
            job: whose steps.
            dp_rank: whose of them.
            cp_rank: this rank within its group.
            form: what attention computes, in all passes.
            from_step: the step that is begun first.
            last_digest: of the step before, 16 bytes; None: histories aren't compared.
            member: as InProcessWorker.join.
            device: where the worker computes, as its --device: "cpu", or "cuda";
                "cuda:N" if it must be that one of the devices that this process sees.
            head_groups: likewise; 0: the worker's own default.
            arena_bytes: for tensors, at most the worker's --memory.
            open_seconds: until the worker has answered and heard from the packing
                server.

        Raises:
            UnavailableError: there is no worker.
            DeadlineExceededError: nothing was heard within open_seconds.
            FailedPreconditionError: another process is attached to it; it computes
                elsewhere than on such a device; there is no CUDA driver.
            InvalidArgumentError: a field out of its range.
        """
        check_class("form", form, AttentionForm, "an AttentionForm")
        form.native()
        if last_digest is not None:
            last_digest = checked_bytes("last_digest", last_digest)
        request = OpenSessionRequest(
            job=checked_text("job", job),
            dp_rank=checked_uint32("dp_rank", dp_rank),
            cp_rank=checked_uint32("cp_rank", cp_rank),
            from_step=checked_integer("from_step", from_step),
            last_digest=last_digest or b"",
            member=checked_text("member", member or member_name()),
            shape=_shape(form),
            head_groups=checked_uint32("head_groups", head_groups),
        )
        socket_folder = checked_path("socket_folder", socket_folder)
        arena_bytes = checked_integer("arena_bytes", arena_bytes, 1)
        check_seconds("open_seconds", open_seconds, 0.001, 1e6)
        where = checked_device(device)
        self._form = form
        self._closed = False
        self._failed: str | None = None
        # Of threads: what one does with the arena, in a stream of its own maybe, comes
        # whole before what another does.
        self._turns = threading.Lock()
        on_device = where.type == "cuda"
        until = time.monotonic() + open_seconds
        self._link = _worker.SidecarLink(
            socket_folder, arena_bytes, on_device, open_seconds
        )
        try:
            self._memory = self._memory_at(where)
            # Without what the environment says, which is of the packing server.
            self._transport = Transport(
                f"unix:{Path(socket_folder) / 'worker.sock'}", security=Security()
            )
            request.token = self._link.token
            answer = self._call(
                "OpenSession", request.SerializeToString(), until - time.monotonic()
            )
        except BaseException:
            # An exception that somebody keeps would keep the worker attached.
            self._link.leave()
            raise
        cp_size = OpenSessionResponse.FromString(answer).cp_size
        super().__init__(request.cp_rank, cp_size, self._memory.device)

    def _memory_at(self, where: torch.device) -> ArenaMemory:
        number = self._link.cuda_device
        memory = ArenaMemory() if number is None else DeviceArenaMemory(number)
        if where.index is not None and where != memory.device:
            accepted = f"{memory.device}, where the worker computes"
            raise invalid_argument("device", quoted(str(where)), accepted)
        return memory

    def _call(self, method: str, request: bytes, seconds: float) -> bytes:
        call = self._transport.call(_SERVICE + method, request, seconds)
        status, answer = call.finish()
        _native.raise_status(*status)
        return answer

    def begin_step(self, step: int) -> None:
        """As AttentionWorker."""
        if self._failed is not None:
            raise UnavailableError(
                f"the session was ended, as an attempt failed with {self._failed}; "
                f"accepted: another SidecarWorker, with from_step={step}"
            )
        self._link.begin_step(step)

    def end_step(self, step: int) -> None:
        """As AttentionWorker."""
        self._link.end_step(step)

    def abandon_step(self, why: str) -> None:
        """Ends the session, so that the peers don't wait: open another."""
        self._failed = why
        self.close()

    def run_forward(
        self,
        micro_batch: MicroBatch,
        form: AttentionForm,
        query: Tensor,
        key: Tensor,
        value: Tensor,
    ) -> ForwardPass:
        """As AttentionWorker."""
        if form.explicit() != self._form.explicit():
            raise invalid_argument("form", f"{form}", f"the session's, {self._form}")
        step, rows, index = self.step, query.shape[0], micro_batch.index
        of_heads = (rows, form.query_heads)
        with self._turns:
            stream = self._stream()
            tensors = (
                *(self._placed(given) for given in (query, key, value)),
                self._tensor(query.shape, query.dtype),
                self._tensor(of_heads, torch.float32),
            )
            offsets, plan = self._offsets(tensors), micro_batch.plan
            self._link.forward(step, index, rows, offsets, plan, stream=stream)
            # The memory goes back with what is saved.
            output = self._memory.copy_out(tensors[3])
        return ForwardPass(output, tensors, _Pass(step, micro_batch))

    def run_backward(
        self, state: object, saved: Sequence[Tensor], gradient: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """As AttentionWorker."""
        forward = cast(_Pass, state)
        if forward.step != self.step:
            raise FailedPreconditionError(
                f"a pass of step {forward.step} is not accepted in step {self.step}; "
                "accepted: backward in the step of its forward pass"
            )
        step, micro_batch = self.step, forward.micro_batch
        index, plan = micro_batch.index, micro_batch.plan
        with self._turns:
            stream = self._stream()
            # Hooks may have taken what was saved out of the arena.
            given = [self._placed(tensor) for tensor in (*saved, gradient)]
            results = [self._tensor(of.shape, of.dtype) for of in saved[:3]]
            offsets, rows = self._offsets((*given, *results)), gradient.shape[0]
            self._link.backward(step, index, rows, offsets, plan, stream=stream)
            query, key, value = (self._memory.copy_out(result) for result in results)
        return query, key, value

    def _stream(self) -> int:
        # In which the arena's tensors are used from now on: after all that other
        # streams have been given to do with them.
        stream = self._memory.stream()
        self._link.use_in(stream)
        return stream

    def _tensor(self, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
        # In memory that the worker sees, given back when the tensor goes.
        taken = self._link.allocate(math.prod(shape) * dtype.itemsize)
        return self._memory.tensor(taken).view(dtype).view(*shape)

    def _placed(self, tensor: Tensor) -> Tensor:
        # Where it is, or a copy in the arena.
        if self._link.offset_of(tensor.data_ptr()) is not None:
            return tensor
        return self._tensor(tensor.shape, tensor.dtype).copy_(tensor)

    def _offsets(self, tensors: Sequence[Tensor]) -> list[int]:
        return [self._offset(tensor) for tensor in tensors]

    def _offset(self, tensor: Tensor) -> int:
        offset = self._link.offset_of(tensor.data_ptr())
        if offset is None and tensor.numel() > 0:
            # PyTorch made another than it was asked for.
            accepted = "one in the arena, as outside of a FakeTensorMode"
            kind = type(tensor).__name__
            raise invalid_argument("tensor of the pass", kind, accepted)
        # Of one without elements any would do.
        return offset or 0

    def close(self) -> None:
        """Ends the session and detaches; later passes raise UnavailableError."""
        if self._closed:
            return
        self._closed = True
        try:
            if not self._link.is_gone:
                request = CloseSessionRequest(token=self._link.token)
                call = self._transport.call(
                    _SERVICE + "CloseSession",
                    request.SerializeToString(),
                    _CLOSE_SECONDS,
                )
                # The worker may be gone by now: nothing is lost.
                call.finish()
        finally:
            # Also where a signal ends that: the worker is for others then.
            self._link.leave()
