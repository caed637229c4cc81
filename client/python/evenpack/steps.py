"""Where a dataset's steps come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from evenpack._native import MicroBatch, Step
from evenpack.invalid_argument import checked_integer, invalid_argument, quoted


@dataclass(frozen=True)
class StepWait:
    """How long a trainer stood still for want of a step.

    Attributes:
        seconds: in all, without the first steps', which also wait for the connection
            and for the job to have documents.
        first_step_seconds: for the first, each time that the steps were opened.
        steps_taken: how many steps came, the first one too.
    """

    seconds: float = 0.0
    first_step_seconds: float = 0.0
    steps_taken: int = 0

    def __add__(self, other: StepWait) -> StepWait:
        """Both."""
        return StepWait(
            self.seconds + other.seconds,
            self.first_step_seconds + other.first_step_seconds,
            self.steps_taken + other.steps_taken,
        )


@dataclass(frozen=True)
class Position:
    """Between two steps of a job.

    Attributes:
        next_step: index of the step that comes next.
        digest: of the step before, 16 bytes; None where that is not known.
        epoch: shape epoch of the step before.
    """

    next_step: int
    digest: bytes | None = None
    epoch: int = 0

    @classmethod
    def behind(cls, step: Step) -> Position:
        """Right after a step. InvalidArgumentError: it is none."""
        if not isinstance(step, Step):
            raise invalid_argument("step", quoted(step), "a Step")
        return cls(step.index + 1, step.digest, step.epoch)

    @classmethod
    def of_state(cls, state: Mapping[str, object]) -> Position | None:
        """What a dataset's state says; None: of before the first step.

        Raises:
            InvalidArgumentError: a key is missing, or has what can't be.
        """
        for key in ("next_step", "digest", "epoch"):
            if key not in state:
                raise invalid_argument(key, "nothing", "one in the state")
        if state["next_step"] is None:
            return None
        digest = state["digest"]
        if digest is not None and not (isinstance(digest, bytes) and len(digest) == 16):
            raise invalid_argument("digest", quoted(digest), "16 bytes, or None")
        return cls(
            checked_integer("next_step", state["next_step"], 1),
            digest,
            checked_integer("epoch", state["epoch"]),
        )


class Steps(Protocol):
    """One rank's steps, in order. One thread at a time."""

    @property
    def wait(self) -> StepWait:
        """What was waited so far."""

    def next(self) -> Step | None:
        """Blocks until there is a step; None: the job is drained.

        After an exception only the engine in this process is asked again.
        """

    def taken(self, _: Position, /) -> None:
        """The steps before the position were given: next() goes on behind them."""

    def checkpoint(self, _: Position, /) -> bytes | None:
        """The job behind the last step taken; None where a server has it."""

    def acknowledge_durable(self, position: Position) -> None:
        """The trainer's checkpoint up to there is committed."""

    def report_latency(
        self, step: int, micro_batch: int, forward_ns: int, backward_ns: int
    ) -> None:
        """Notes what a micro-batch took; 0 where not measured."""

    def close(self) -> None:
        """Ends in order: what was acknowledged is confirmed."""

    def cancel(self) -> None:
        """Ends at once."""


def micro_batch_index(micro_batch: MicroBatch | int, step: Step) -> int:
    """Which of the whole step's micro-batches it is.

    Args:
        micro_batch: one of the rank's own, or which of them.
        step: whose it is.

    Raises:
        InvalidArgumentError: it is another's, or none; or there is no step.
    """
    if not isinstance(step, Step):
        raise invalid_argument("step", quoted(step), "a Step")
    if not isinstance(micro_batch, MicroBatch):
        return step[checked_integer("micro_batch", micro_batch, 0, len(step) - 1)].index
    index = micro_batch.index
    own = [each.index for each in step]
    if index not in own:
        accepted = f"one of step {step.index}'s own, {quoted(own)}"
        raise invalid_argument("micro_batch", f"index {index}", accepted)
    return index
