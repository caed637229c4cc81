"""What each kind of worker does, and a step's way through it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TypeVar

import torch
from torch import Tensor

from evenpack._native import MicroBatch
from evenpack.attention_workers.attention_form import AttentionForm
from evenpack.errors import AbortedError, FailedPreconditionError
from evenpack.invalid_argument import checked_integer

W = TypeVar("W", bound="AttentionWorker")


@dataclass(frozen=True)
class ForwardPass:
    """One layer's, done.

    Attributes:
        output: [rows, query_heads, head_size].
        saved: tensors that its backward pass reads.
        state: what else that needs.
    """

    output: Tensor
    saved: tuple[Tensor, ...]
    state: object


class Attempt:
    """A step from its beginning, as a context manager.

    Its end waits until all ranks of the group have executed the step. Where one was
    lost meanwhile, what `evenpack.attention` raises of that ends here, if it was not
    caught before, and another attempt follows. Any other exception goes on, and has
    the peers attempt the step again; those of a process group, which does not form
    anew, have FailedPreconditionError then. What it was stays with this rank.
    """

    def __init__(self, worker: AttentionWorker, step: int) -> None:
        """As `AttentionWorker.attempts` makes it."""
        self._worker = worker
        self.step = step
        self.begun = False
        self.executed = False
        self.lost = False

    def __enter__(self) -> Attempt:
        """Waits until all ranks are connected and at this step."""
        self.begun = True
        while True:
            try:
                self._worker.begin(self)
                return self
            except AbortedError:
                continue

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """True: the exception was of a peer, and is dealt with."""
        if error is None and not self.lost:
            try:
                self._worker.end(self)
            except AbortedError:
                return False
            self.executed = True
            return False
        self._worker.give_up(self, error)
        return self.lost and isinstance(error, AbortedError)


class AttentionWorker(ABC):
    """One rank of a context-parallel group.

    All ranks of a group execute the same steps, and in them the same passes in the same
    order. Weights must not change before a step's attempt has ended well. Passes of
    threads are done one at a time; of a group of several ranks threads would have to
    keep the order.

        for step in dataset:
            for attempt in worker.attempts(step.index):
                with attempt:
                    optimizer.zero_grad()
                    ...                       # forward and backward
            optimizer.step()

    Attributes:
        cp_rank: within the group, 0 to cp_size - 1.
        cp_size: ranks of the group.
        device: where its tensors are.
    """

    def __init__(self, cp_rank: int, cp_size: int, device: torch.device) -> None:
        """Of a rank."""
        self.cp_rank = cp_rank
        self.cp_size = cp_size
        self.device = device
        self._attempt: Attempt | None = None

    def attempts(self, step: int) -> Iterator[Attempt]:
        """Attempts at a step until one is executed: one, unless a rank is lost.

        Raises:
            InvalidArgumentError: no number of a step.
            FailedPreconditionError: a peer is at another step, or the rank was taken by
                another process.
            DeadlineExceededError: peers did not come, or hang.
        """
        step = checked_integer("step", step)
        while True:
            attempt = Attempt(self, step)
            yield attempt
            if attempt.executed:
                return
            if not attempt.begun:
                raise FailedPreconditionError(
                    "attempts(): an attempt was not entered; accepted: with attempt:"
                )

    @property
    def step(self) -> int:
        """The one that has begun. FailedPreconditionError: none has."""
        if self._attempt is None:
            raise FailedPreconditionError(
                "no step has begun; accepted: within an attempt of "
                "AttentionWorker.attempts(step)"
            )
        return self._attempt.step

    def begin(self, attempt: Attempt) -> None:
        """For Attempt."""
        if self._attempt is not None:
            raise FailedPreconditionError(
                f"step {self._attempt.step} has begun and not ended; accepted: one "
                "attempt at a time"
            )
        self.begin_step(attempt.step)
        self._attempt = attempt

    def end(self, attempt: Attempt) -> None:
        """For Attempt."""
        self._attempt = None
        self.end_step(attempt.step)

    def give_up(self, attempt: Attempt, error: BaseException | None) -> None:
        """For Attempt; without an error where a lost rank's was caught within it."""
        self._attempt = None
        if not attempt.lost:
            self.abandon_step(f"{type(error).__name__}: {error}")

    def forward(
        self,
        micro_batch: MicroBatch,
        form: AttentionForm,
        query: Tensor,
        key: Tensor,
        value: Tensor,
    ) -> ForwardPass:
        """A layer's forward pass; tensors are contiguous.

        Raises:
            AbortedError: a peer was lost.
            FailedPreconditionError: the micro-batch is cut for a group of another size.
            InvalidArgumentError: rows other than the rank has of the micro-batch.
        """
        if micro_batch.context_parallel != self.cp_size:
            raise FailedPreconditionError(
                f"the micro-batch is for groups of {micro_batch.context_parallel} "
                f"ranks, and this one has {self.cp_size}; accepted: a worker of the "
                "job's present shape"
            )
        try:
            return self.run_forward(micro_batch, form, query, key, value)
        except AbortedError:
            self._lose()
            raise

    def backward(
        self, state: object, saved: Sequence[Tensor], gradient: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Gradients of query, key and value. Errors as forward()."""
        try:
            return self.run_backward(state, saved, gradient)
        except AbortedError:
            self._lose()
            raise

    def _lose(self) -> None:
        if self._attempt is not None:
            self._attempt.lost = True

    def __enter__(self: W) -> W:
        """The worker."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes it."""
        self.close()

    @abstractmethod
    def begin_step(self, step: int, /) -> None:
        """Waits until all ranks are connected and at the step."""

    @abstractmethod
    def end_step(self, step: int, /) -> None:
        """Waits until all ranks have executed it; AbortedError: it is done again."""

    @abstractmethod
    def abandon_step(self, why: str, /) -> None:
        """Has the peers give up the step too, which has begun and can't be executed.

        `why` is for this rank.
        """

    @abstractmethod
    def run_forward(
        self,
        micro_batch: MicroBatch,
        form: AttentionForm,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        /,
    ) -> ForwardPass:
        """As forward()."""

    @abstractmethod
    def run_backward(
        self, state: object, saved: Sequence[Tensor], gradient: Tensor, /
    ) -> tuple[Tensor, Tensor, Tensor]:
        """As backward()."""

    @abstractmethod
    def close(self) -> None:
        """Leaves the group. No step may be under way."""
