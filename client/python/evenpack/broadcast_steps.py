"""One subscription for several ranks: one takes the steps and sends them on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from evenpack._native import Step
from evenpack.errors import EvenpackError, InternalError
from evenpack.steps import Position, Steps, StepWait

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


class BroadcastSteps:
    """The steps of one DP rank, for all ranks of a torch.distributed group.

    Every rank calls next() as often as the others. An error of the rank that subscribes
    is raised on all.
    """

    def __init__(self, subscribe: Callable[[], Steps], group: ProcessGroup) -> None:
        """Subscribes on the group's first rank, with the first step.

        Args:
            subscribe: opens the subscription.
            group: the ranks that share it.
        """
        import torch.distributed as dist

        self._group = group
        self._source = dist.get_global_rank(group, 0)
        self._takes = dist.get_rank(group) == 0
        self._subscribe = subscribe
        self._steps: Steps | None = None

    @property
    def wait(self) -> StepWait:
        """What the rank that subscribes waited for; nothing on the others."""
        return self._steps.wait if self._steps is not None else StepWait()

    def _take(self) -> Step | EvenpackError | None:
        """An error is for all ranks: the others wait for whatever this one sends."""
        try:
            if self._steps is None:
                self._steps = self._subscribe()
            return self._steps.next()
        except EvenpackError as error:
            return error
        except Exception as error:
            return InternalError(f"the rank that subscribes: {error!r}")

    def next(self) -> Step | None:
        """The next step, the same on every rank; None: the job is drained."""
        import torch.distributed as dist

        taken = [self._take() if self._takes else None]
        dist.broadcast_object_list(taken, src=self._source, group=self._group)
        if isinstance(taken[0], EvenpackError):
            raise taken[0]
        return taken[0]

    def taken(self, step: Step) -> None:
        """Nothing: who goes on later says from where."""

    def checkpoint(self, _: Position, /) -> bytes | None:
        """None: the server has the job."""
        return None

    def acknowledge_durable(self, position: Position) -> None:
        """Sent by the rank that subscribes; nothing on the others."""
        if self._steps is not None:
            self._steps.acknowledge_durable(position)

    def report_latency(
        self, step: int, micro_batch: int, forward_ns: int, backward_ns: int
    ) -> None:
        """Noted by the rank that subscribes; nothing on the others."""
        if self._steps is not None:
            self._steps.report_latency(step, micro_batch, forward_ns, backward_ns)

    def close(self) -> None:
        """Ends the subscription in order."""
        if self._steps is not None:
            self._steps.close()

    def cancel(self) -> None:
        """Ends the subscription at once."""
        if self._steps is not None:
            self._steps.cancel()
