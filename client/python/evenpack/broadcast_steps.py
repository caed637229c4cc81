"""One subscription for several ranks: one takes the steps and sends them on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from evenpack._native import Step
from evenpack.errors import EvenpackError, InternalError
from evenpack.invalid_argument import check_class, invalid_argument
from evenpack.steps import Position, Steps, StepWait

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


class BroadcastRanks:
    """Of which DP and CP rank each rank of a torch.distributed group is.

    They tell each other once, however often one of them opens its steps anew.
    """

    def __init__(self, group: ProcessGroup, dp_rank: int, cp_rank: int | None) -> None:
        """Says what this one is.

        Args:
            group: the ranks that share a subscription.
            dp_rank: the one of all.
            cp_rank: of this rank; others may have others.

        Raises:
            InvalidArgumentError: no process group, or one that this rank isn't of.
        """
        from torch.distributed import ProcessGroup

        accepted = "a torch.distributed.ProcessGroup that this rank is of, or None"
        check_class("broadcast_group", group, ProcessGroup, accepted)
        self.group = group
        self.dp_rank = dp_rank
        self.cp_rank = cp_rank
        self._cp_ranks: set[int | None] | None = None

    @property
    def subscribes(self) -> bool:
        """Whether this rank takes the steps for all."""
        import torch.distributed as dist

        return dist.get_rank(self.group) == 0

    def of_all(self) -> set[int | None]:
        """The CP ranks; every rank calls it before its first step.

        Raises:
            InvalidArgumentError: the ranks are of several DP ranks.
        """
        if self._cp_ranks is None:
            self._cp_ranks = self._gather()
        return self._cp_ranks

    def _gather(self) -> set[int | None]:
        import torch.distributed as dist

        own = (self.dp_rank, self.cp_rank)
        ranks = [own] * dist.get_world_size(self.group)
        dist.all_gather_object(ranks, own, group=self.group)
        for dp_rank, _ in ranks:
            if dp_rank != ranks[0][0]:
                accepted = f"{ranks[0][0]}, as on the first rank of broadcast_group"
                raise invalid_argument("dp_rank", dp_rank, accepted)
        return {cp_rank for _, cp_rank in ranks}


class BroadcastSteps:
    """The steps of one DP rank, for all ranks of a torch.distributed group.

    Every rank calls next() as often as the others. An error of the rank that subscribes
    is raised on all.
    """

    def __init__(
        self, subscribe: Callable[[int | None], Steps], ranks: BroadcastRanks
    ) -> None:
        """Subscribes on the group's first rank, with the first step.

        Args:
            subscribe: opens the subscription of a CP rank, or of none.
            ranks: the group's.
        """
        import torch.distributed as dist

        self._ranks = ranks
        self._source = dist.get_global_rank(ranks.group, 0)
        self._takes = ranks.subscribes
        self._subscribe = subscribe
        self._steps: Steps | None = None

    @property
    def wait(self) -> StepWait:
        """What the rank that subscribes waited for; nothing on the others."""
        return self._steps.wait if self._steps is not None else StepWait()

    def _next(self, cp_ranks: set[int | None]) -> Step | None:
        """Of the one CP rank that all have, else the whole, which is for each."""
        if self._steps is None:
            self._steps = self._subscribe(
                self._ranks.cp_rank if len(cp_ranks) == 1 else None
            )
        step = self._steps.next()
        # A step that was decided before the job had this DP rank has nothing for it.
        if step is not None and len(step) > 0:
            ranks = step[0].context_parallel
            for cp_rank in cp_ranks:
                if cp_rank is not None and cp_rank >= ranks:
                    raise invalid_argument("cp_rank", cp_rank, f"0 to {ranks - 1}")
        return step

    def _take(self, cp_ranks: set[int | None]) -> Step | EvenpackError | None:
        """An error is for all ranks: the others wait for whatever this one sends."""
        try:
            return self._next(cp_ranks)
        except EvenpackError as error:
            return error
        except Exception as error:
            return InternalError(f"the rank that subscribes: {error!r}")

    def next(self) -> Step | None:
        """The next step, with this rank's slices; None: the job is drained.

        Raises:
            InvalidArgumentError: the ranks are of several DP ranks, or one is a CP rank
                that the job doesn't have.
        """
        import torch.distributed as dist

        cp_ranks = self._ranks.of_all()
        taken = [self._take(cp_ranks) if self._takes else None]
        dist.broadcast_object_list(taken, src=self._source, group=self._ranks.group)
        step = taken[0]
        if isinstance(step, EvenpackError):
            raise step
        cp_rank = self._ranks.cp_rank
        return step if step is None or cp_rank is None else step.of_cp_rank(cp_rank)

    def taken(self, _: Position, /) -> None:
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
