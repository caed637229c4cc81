"""Says that a job waits for durable marks, which to its trainer looks like a hang."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from time import monotonic

from evenpack.errors import EvenpackError
from evenpack.v1.job_pb2 import Job

# A wait that is shorter may be of a trainer that writes a checkpoint, or a producer.
_SECONDS = 60.0
_MOST_RANKS = 8


class AwaitedMarks:
    """Looks, where a wait for a step is long, at what the job waits for; tells once."""

    def __init__(
        self, job_now: Callable[[], Job], clock: Callable[[], float] = monotonic
    ) -> None:
        """Nothing is waited for yet.

        Args:
            job_now: asks the server; an EvenpackError is as good as no answer.
            clock: seconds.
        """
        self._job_now = job_now
        self._clock = clock
        self._look_at = 0.0
        self._told = False

    def begin(self) -> None:
        """A step is waited for from now on."""
        self._look_at = self._clock() + _SECONDS

    def look(self) -> None:
        """It still is. Called now and then.

        Warns:
            RuntimeWarning: the job has as many steps decided as may be without a mark.
        """
        if self._told or self._clock() < self._look_at:
            return
        try:
            job = self._job_now()
        except EvenpackError:
            return
        finally:
            self.begin()
        most = job.spec.retention.max_steps_ahead
        if job.next_step - job.durable_steps < most:
            return
        self._told = True
        warnings.warn(_message(job), RuntimeWarning, stacklevel=2)


def _message(job: Job) -> str:
    marked = job.durable_steps_per_rank
    last = [str(rank) for rank, steps in enumerate(marked) if steps == min(marked)]
    more = ["..."] if len(last) > _MOST_RANKS else []
    ranks = ", ".join(last[:_MOST_RANKS] + more)
    most = job.spec.retention.max_steps_ahead
    return (
        f"max_steps_ahead: {most:,} decided steps of job '{job.name}' wait to be made "
        f"durable; it goes on once ack_durable() has marked step {job.durable_steps} "
        f"or a later one on DP rank {ranks}"
    )
