"""Steps that the engine decides in the trainer's own process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from time import perf_counter

from evenpack import _native
from evenpack.document_columns import (
    Columns,
    DocumentSource,
    StreamSource,
    documents_from,
)
from evenpack.errors import FailedPreconditionError, InternalError, OutOfRangeError
from evenpack.invalid_argument import invalid_argument, quoted
from evenpack.spec import SpecSource, job_spec
from evenpack.steps import Position, StepWait
from evenpack.v1.job_pb2 import MERGE_MODE_ARRIVAL, JobSpec

# Documents that a stream of the highest weight is given at a time.
_BATCH = 1024

# Name, weight and documents of a stream.
_Source = tuple[str, int, StreamSource]


def _by_stream(spec: JobSpec, source: DocumentSource) -> Iterator[_Source]:
    given: Mapping[str, StreamSource]
    if isinstance(source, Mapping):
        given = source
    elif len(spec.streams) == 1:
        given = {spec.streams[0].name: source}
    else:
        names = ", ".join(stream.name for stream in spec.streams)
        raise invalid_argument(
            "lengths", "one stream", f"a mapping with those of {names}"
        )
    streams = sorted(stream.name for stream in spec.streams)
    if set(given) != set(streams):
        found = quoted(sorted(map(str, given)))
        raise invalid_argument("lengths", f"streams {found}", str(streams))
    for stream in spec.streams:
        yield stream.name, max(stream.weight, 1), given[stream.name]


class LocalSteps:
    """Steps of one rank, from the documents of all.

    Every rank of the run has one, is given the same documents, and so has the same
    steps.
    """

    def __init__(
        self,
        *,
        spec: SpecSource | None,
        checkpoint: bytes | None,
        lengths: DocumentSource,
        dp_rank: int,
        cp_rank: int | None,
    ) -> None:
        """Begins with the first step, or goes on from a checkpoint.

        Args:
            spec: an evenpack.v1.JobSpec. With a checkpoint: the shape from there on,
                where it is to be another; else needed.
            checkpoint: of a server's job, or of a dataset in this form.
            lengths: the documents, all of them from the first on.
            dp_rank: whose micro-batches are wanted.
            cp_rank: whose slices come along.

        Raises:
            InvalidArgumentError: a spec or a checkpoint that can't be; documents behind
                the last one of a stream that has ended at the checkpoint.
        """
        given = None if spec is None else job_spec(spec).SerializeToString()
        if checkpoint is not None:
            self._job = _native.LocalJob.restore(checkpoint)
            if given is not None and self._differs(given):
                self._job.update(given)
        elif given is not None:
            self._job = _native.LocalJob.create(given)
        else:
            raise invalid_argument("spec", None, "a JobSpec, or a checkpoint")
        self._view = (dp_rank, cp_rank)
        self._spec = _native.Spec(self._job.spec)
        spec_now = JobSpec.FromString(self._job.spec)
        self._merge = spec_now.merge
        self._sources = list(_by_stream(spec_now, lengths))
        self._most_weight = max(weight for _, weight, _ in self._sources)
        self._readers: dict[str, Iterator[Columns]] = {}
        # What was read and is to be added, in this order.
        self._round: list[tuple[str, int, Columns | None]] = []
        if checkpoint is not None:
            self._check_ends()
        # The step that was decided and is not taken, if there is one; the same, read.
        self._decided: list[bytes] = []
        self._read: _native.Step | None = None
        self._wait = StepWait()

    def _differs(self, spec: bytes) -> bool:
        """Whether a spec, with its defaults, is not the job's."""
        return _native.LocalJob.create(spec).spec != self._job.spec

    def _check_ends(self) -> None:
        """Nothing would be read behind the end of a stream, nor anybody be told."""
        for name, _, source in self._sources:
            first = self._job.next_sequence(name)
            if self._job.ended(name) and any(documents_from(source, first, 1)):
                raise invalid_argument(
                    "lengths",
                    f"more than {first} documents of stream {quoted(name)}",
                    f"{first}, with which the checkpoint has it ended",
                )

    @property
    def wait(self) -> StepWait:
        """Time that reading documents and deciding took."""
        return self._wait

    @property
    def position(self) -> Position:
        """Where the job is."""
        return Position(self._job.next_step, self._job.digest, self._job.epoch)

    def _feed(self) -> None:
        """Adds the next documents, or says that a stream has ended.

        All of a round are read before one is added: with an error of a reader between,
        streams would arrive in other turns than they do for the other ranks.
        """
        try:
            if not self._round:
                self._round = [self._part_of(source) for source in self._turn()]
            for name, first, part in self._round:
                if self._job.next_sequence(name) == first and not self._job.ended(name):
                    self._add(name, first, part)
            self._round = []
        except BaseException:
            # What a reader gave may be lost: the job says where to read again.
            self._readers.clear()
            raise

    def _turn(self) -> list[_Source]:
        """The streams that are read next, which follows from the job alone."""
        going = [source for source in self._sources if not self._job.ended(source[0])]
        if not going:
            raise InternalError("the engine waits for documents behind the last one")
        if self._merge == MERGE_MODE_ARRIVAL:
            return going
        # Each in its own time, or what others have too many of stayed in the job, and
        # in each checkpoint.
        return [min(going, key=lambda s: Fraction(self._job.next_sequence(s[0]), s[1]))]

    def _part_of(self, source: _Source) -> tuple[str, int, Columns | None]:
        """Name of a stream, its next sequence and its documents from there on."""
        name, weight, documents = source
        first = self._job.next_sequence(name)
        if name not in self._readers:
            size = max(1, _BATCH * weight // self._most_weight)
            self._readers[name] = documents_from(documents, first, size)
        return name, first, next(self._readers[name], None)

    def _add(self, name: str, first: int, part: Columns | None) -> None:
        if part is None:
            self._job.end_of_stream(name)
            return
        self._job.add(
            name, first, part.lengths, part.ids, part.loss_tokens, part.sources
        )

    def next(self) -> _native.Step | None:
        """The next step, again until it is taken; None: all documents were in one."""
        started = perf_counter()
        if not self._decided:
            self._read = None
            if not self._decide():
                return None
        if self._read is None:
            self._read = _native.Step.read(self._decided[0], self._spec)
            self._count(perf_counter() - started)
        return self._read

    def _decide(self) -> bool:
        """Has the next step decided; False: the job is drained."""
        dp_rank, cp_rank = self._view
        while not self._decided:
            # The engine decides a step once, so it is put into the list by the call
            # that has it decided: a signal's handler that raises, as Ctrl-C's does,
            # runs behind that call.
            step = filter(None, map(self._job.take_step, [dp_rank], [cp_rank]))
            try:
                self._decided.extend(step)
            except OutOfRangeError:  # drained
                return False
            if not self._decided:
                self._feed()
        return True

    def taken(self, position: Position, /) -> None:
        """See `Steps`."""
        if position.next_step == self._job.next_step:
            self._decided.clear()

    def _count(self, seconds: float) -> None:
        wait = self._wait
        if wait.steps_taken == 0:
            self._wait = StepWait(0.0, seconds, 1)
        else:
            self._wait = StepWait(
                wait.seconds + seconds, wait.first_step_seconds, wait.steps_taken + 1
            )

    def checkpoint(self, position: Position, /) -> bytes | None:
        """The job behind the step before `position`.

        Raises:
            FailedPreconditionError: the job began, or went on, behind that step, or had
                another one there.
        """
        try:
            found = self._job.checkpoint(position.next_step - 1)
        except OutOfRangeError as error:
            raise FailedPreconditionError(error.message) from error
        digest = _native.LocalJob.restore(found).digest
        if position.digest not in (None, digest):
            raise FailedPreconditionError(
                f"step: {position.next_step - 1} of another history is not accepted; "
                "accepted: a step that this dataset gave"
            )
        return found

    def acknowledge_durable(self, position: Position) -> None:
        """Nothing: the trainer's checkpoint has the job in it."""

    def report_latency(
        self, step: int, micro_batch: int, forward_ns: int, backward_ns: int
    ) -> None:
        """Nothing: there is nobody to compare it with."""

    def close(self) -> None:
        """Nothing."""

    def cancel(self) -> None:
        """Nothing."""
