"""How many data-parallel ranks a trainer has, and the job whose steps it takes."""

from __future__ import annotations

from evenpack._native import Step
from evenpack.invalid_argument import checked_uint32, invalid_argument
from evenpack.v1.job_pb2 import JobSpec


class DataParallelRanks:
    """Compares the two: of a job with more nobody takes the micro-batches of some."""

    def __init__(self, field: str, ranks: object) -> None:
        """Has the trainer's number.

        Args:
            field: the argument's name, as whoever reads an error knows it.
            ranks: the number, at least 1; None: nothing is compared.

        Raises:
            InvalidArgumentError: anything else.
        """
        self._field = field
        self._ranks = None if ranks is None else checked_uint32(field, ranks, 1)
        self._spec: bytes | None = None

    def check(self, step: Step) -> None:
        """Looks at a step's job where it is another, or has another shape, than before.

        Raises:
            InvalidArgumentError: it was packed for another number of ranks.
        """
        if self._ranks is None or step.spec == self._spec:
            return
        # 0 in a spec stands for 1.
        ranks = max(JobSpec.FromString(step.spec).parallelism.data, 1)
        if ranks != self._ranks:
            accepted = f"{ranks}, the job's data-parallel ranks"
            raise invalid_argument(self._field, self._ranks, accepted)
        self._spec = step.spec
