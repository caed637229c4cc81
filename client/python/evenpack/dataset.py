"""One rank's steps, as PyTorch's loaders take them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from evenpack._native import MicroBatch, Step
from evenpack.broadcast_steps import BroadcastRanks
from evenpack.data_loader_worker import check_worker
from evenpack.data_parallel_ranks import DataParallelRanks
from evenpack.dataset_state import made_state, read_state
from evenpack.document_columns import DocumentSource
from evenpack.errors import CancelledError, DataLossError, FailedPreconditionError
from evenpack.failing_iterator import FailingIterator
from evenpack.invalid_argument import (
    checked_bytes,
    checked_integer,
    checked_uint32,
    invalid_argument,
)
from evenpack.local_steps import LocalSteps
from evenpack.security import Security
from evenpack.served_job import ServedJob
from evenpack.server_steps import ServerOptions
from evenpack.spec import SpecSource
from evenpack.steps import Position, Steps, StepWait, micro_batch_index
from evenpack.worker_loop import WorkerLoop

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

try:
    from torch.utils.data import IterableDataset
except ImportError:  # torch is optional: iterate over the dataset itself

    class IterableDataset:  # type: ignore[no-redef]
        """What stands for PyTorch's class where there is none."""

        def __class_getitem__(cls, item: object) -> type:
            """PackedDataset is one of steps."""
            return cls


_MOST_NS = (1 << 63) - 1

# Sessions of a process that this one was forked from: their threads aren't here, so
# that nothing of them may be touched, nor they be destroyed.
_left_behind: list[Steps] = []


class PackedDataset(IterableDataset[Step]):
    """The steps of a data-parallel rank, in order, each exactly once.

    Two forms, the same steps: of a server's job,

        dataset = PackedDataset("packer:7654", job="run-7", dp_rank=3)

    or decided by the engine in this process, from documents that every rank is given:

        dataset = PackedDataset(spec={"window": 65536, ...}, lengths=lengths, dp_rank=3)

    Iterating gives `Step`s until the job is drained; iterating again goes on where it
    stopped. `state_dict()` after a step, kept in the trainer's checkpoint, lets another
    dataset go on behind it, also under another DP or CP size:

        if there_is_a_checkpoint:
            dataset.load_state_dict(saved)
            dataset.ack_durable()
        for step in dataset:
            train(step)
            if time_to_save:
                save(model, dataset.state_dict())
                dataset.ack_durable()

    A server's job whose steps nobody marks stops `max_steps_ahead` steps in: 1,024,
    unless its spec has another number.

    In a DataLoader use `batch_size=None`; 0 or 1 workers. A worker iterates over a
    copy: this one stays where it is, and iterating over the loader again begins there.
    Behind a loop in a worker that was left early or failed that is refused until a
    state is loaded: steps would come again, or be lost in a persistent worker. It opens
    its connection when the first step is asked for, in the process that asks. One
    thread at a time.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        job: str | None = None,
        spec: SpecSource | None = None,
        lengths: DocumentSource | None = None,
        checkpoint: bytes | bytearray | memoryview | None = None,
        dp_rank: int = 0,
        dp_size: int | None = None,
        cp_rank: int | None = None,
        security: Security | None = None,
        options: ServerOptions | None = None,
        broadcast_group: ProcessGroup | None = None,
    ) -> None:
        """Says what to follow; nothing is opened yet.

        Args:
            address: the server's, "HOST:PORT", or several with commas between them, as
                `Client` takes them; None: the engine in this process.
            job: the job's name, with an address.
            spec: without an address: an evenpack.v1.JobSpec, a mapping of its fields or
                a file. With a checkpoint: the shape from there on, where it is to
                change.
            lengths: without an address: tokens of all documents, in order, or a corpus
                of `evenpack.corpora`; by stream where there are several. The same on
                every rank.
            checkpoint: without an address: goes on from this one of a job, as
                `Client.checkpoint_job` or `state_dict()["checkpoint"]` has it.
            dp_rank: whose micro-batches are wanted, 0 to DP - 1.
            dp_size: the trainer's DP. Iterating refuses (InvalidArgumentError) a job of
                another; None: not compared.
            cp_rank: whose slices come along, 0 to CP - 1; any rank's can be computed.
            security: with an address: TLS, and who this client is; what the environment
                says where None.
            options: how the server's job is followed.
            broadcast_group: with an address: a torch.distributed process group, all of
                one DP rank, of which one rank subscribes and sends the others each
                step; each has the slices of its own cp_rank. Not in a DataLoader's
                worker: num_workers=0.

        Raises:
            InvalidArgumentError: arguments of both forms, or of neither, or of another
                kind; a rank that is none of any job.
        """
        super().__init__()
        local = {"spec": spec, "lengths": lengths, "checkpoint": checkpoint}
        served = {
            "job": job,
            "security": security,
            "options": options,
            "broadcast_group": broadcast_group,
        }
        wrong = served if address is None else local
        for name, value in wrong.items():
            if value is not None:
                form = "without" if address is None else "with"
                raise invalid_argument(
                    name, type(value).__name__, f"None, {form} address"
                )
        needed, value = ("lengths", lengths) if address is None else ("job", job)
        if value is None:
            form = "without" if address is None else "with"
            raise invalid_argument(needed, None, f"one, {form} address")
        ranks = (
            checked_uint32("dp_rank", dp_rank),
            None if cp_rank is None else checked_uint32("cp_rank", cp_rank),
        )
        self._served: ServedJob | None = None
        if address is not None and job is not None:
            group = broadcast_group
            shared = None if group is None else BroadcastRanks(group, *ranks)
            options = ServerOptions() if options is None else options
            self._served = ServedJob(address, job, *ranks, security, options, shared)
        self._spec = spec
        self._lengths = lengths
        if checkpoint is not None:
            checkpoint = checked_bytes("checkpoint", checkpoint)
        self._checkpoint = self._first_checkpoint = checkpoint
        self._ranks = ranks
        self._sizes = DataParallelRanks("dp_size", dp_size)
        self._position: Position | None = None
        self._loaded: tuple[Position | None, ...] = ()  # a state's, if one was
        # Where the engine in this process begins without a position.
        self._first_step: int | None = None
        self._steps: Steps | None = None
        # For steps that are open no more.
        self._waited = StepWait()
        self._pid = os.getpid()
        self._worker_loop = WorkerLoop()

    def _opened(self) -> Steps | None:
        """The steps, where they are open: a fork has a connection, not its threads."""
        forked = self._served is not None and self._pid != os.getpid()
        if forked and self._steps is not None:
            _left_behind.append(self._steps)
            self._steps = None
            self._waited = StepWait()
        return self._steps

    def _open(self) -> Steps:
        """The steps from the position on."""
        steps = self._opened()
        if steps is None:
            self._pid = os.getpid()
            if self._served is None:
                steps = self._open_local()
            else:
                steps = self._served.follow(self._position)
            self._steps = steps
        return steps

    def _open_local(self) -> Steps:
        assert self._lengths is not None
        steps = LocalSteps(
            spec=self._spec,
            checkpoint=self._checkpoint,
            lengths=self._lengths,
            dp_rank=self._ranks[0],
            cp_rank=self._ranks[1],
        )
        wanted, found = self._position, steps.position
        self._first_step = found.next_step
        if wanted is not None and (wanted.next_step, wanted.digest) != (
            found.next_step,
            found.digest,
        ):
            raise DataLossError(
                f"checkpoint: is of before step {found.next_step}, not "
                f"{wanted.next_step}, or of another history"
            )
        return steps

    def __iter__(self) -> Iterator[Step]:
        """Steps from where the dataset is; behind an error begin anew.

        Raises:
            InvalidArgumentError: in a DataLoader of several workers, or, with a
                broadcast_group, in a worker.
            FailedPreconditionError: behind a loop in a worker that was left early or
                failed, or in a persistent worker that doesn't know of a loaded state.
            CancelledError: there was an error before, or the dataset goes on elsewhere.
        """
        return FailingIterator(self._iterate())

    def _iterate(self) -> Iterator[Step]:
        served = self._served
        check_worker(broadcasts=served is not None and served.shared is not None)
        self._worker_loop.check()
        steps = self._open()
        while True:
            if self._opened() is not steps:
                raise CancelledError(
                    "the dataset goes on elsewhere; iterate over it again"
                )
            try:
                step = self._next(steps)
                position = None if step is None else Position.behind(step)
                if step is not None:
                    self._worker_loop.give()
            except BaseException:
                self._leave_off()
                raise
            if step is None:
                self._worker_loop.end()
                return
            # No call is between this and who iterates, so that no signal's handler can
            # raise here: a step that is noted is given, and what is not comes again.
            self._position = position
            yield step

    def _next(self, steps: Steps) -> Step | None:
        """The step behind the position."""
        if self._position is not None:
            steps.taken(self._position)
        step = steps.next()
        if step is not None:
            self._check_next(step.index)
            self._sizes.check(step)
        return step

    def _check_next(self, index: int) -> None:
        position = self._position
        expected = self._first_step if position is None else position.next_step
        if expected is not None and index != expected:
            raise DataLossError(f"step {index} came, not {expected}")

    def _leave_off(self) -> None:
        """Has the next iteration open at the position; the engine here stays."""
        if self._served is None or self._steps is None:
            return
        # First, since another interruption may end this.
        steps, self._steps = self._steps, None
        # It is, where the interpreter ends meanwhile.
        with suppress(CancelledError):
            self._waited += steps.wait
            steps.cancel()

    def state_dict(self, step: Step | None = None) -> dict[str, Any]:
        """Where the dataset is: behind the last step that iterating gave.

        Where a DataLoader's worker iterates, only the worker's copy is there: take
        StatefulDataLoader, or say which step was the last.

        Args:
            step: behind this one, whichever process it came from; needed behind a
                worker's.

        Returns:
            `version`; `next_step`, None where it has not begun; `digest` and `epoch` of
            the step before; `job`; and, from the engine in this process, its
            `checkpoint`: bytes that a server restores a job from, too.

        Raises:
            InvalidArgumentError: what is no Step.
            FailedPreconditionError: a step without address, of which this process has
                no checkpoint; none, where a worker gave steps.
        """
        position = self._last() if step is None else Position.behind(step)
        job = None if self._served is None else self._served.name
        return made_state(position, job, self._checkpoint_at(position))

    def _last(self) -> Position | None:
        if self._worker_loop.is_elsewhere():
            raise FailedPreconditionError(
                "step: None is not accepted where a DataLoader's worker gave them; "
                "accepted: the last one, or the state of a StatefulDataLoader"
            )
        return self._position

    def _checkpoint_at(self, position: Position | None) -> bytes | None:
        steps = self._opened()
        if steps is not None and position is not None:
            return steps.checkpoint(position)
        if self._served is None and position != self._position:
            raise FailedPreconditionError(
                "step: its checkpoint is in the process that packed it; accepted: "
                "none, or a step that this dataset gave"
            )
        return self._checkpoint

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on where another dataset was, in this one's ranks.

        The engine in this process goes on in this one's shape, too. A state that is of
        a checkpoint in storage is marked then, by `ack_durable()`: who wrote it may
        have been killed before, and the job decides no more than its max_steps_ahead
        beyond the last mark, perhaps fewer than up to the next checkpoint. One out of a
        process's memory is not.

        Args:
            state: of `state_dict()`, of either form: a server's job can go on from a
                dataset in a process (restore its `checkpoint` there first), and the
                other way round (put `Client.checkpoint_job(...).checkpoint` in
                `checkpoint`).

        Raises:
            InvalidArgumentError: it is of another version, has what can't be, or lacks
                the checkpoint that the engine in this process needs.
        """
        local = self._served is None
        position, checkpoint = read_state(state, needs_checkpoint=local)
        self.cancel()
        self._worker_loop.forget()
        self._position = position
        self._loaded = (position,)
        if self._served is not None:
            self._served.unconfirmed.forget()
        if local:
            given = self._first_checkpoint if checkpoint is None else checkpoint
            self._checkpoint = given

    def ack_durable(self, step: Step | int | None = None) -> None:
        """Says that the trainer's checkpoint after a step is committed.

        All of it: behind a barrier, where one rank writes for others. A rank that
        begins without a state begins behind the steps that it has marked. The server
        then may let go of the steps up to it, once all DP ranks said so. Without marks
        a job stops max_steps_ahead steps in, 1,024 unless its spec says another number.
        Where this process has no subscription (a DataLoader's worker has), or one that
        began behind the step, it is sent at once; that of a loaded state is where the
        job has its digest.

        Args:
            step: the step, or its index; the last one that this dataset gave if None.

        Raises:
            FailedPreconditionError: there was no step yet, or an index of a step that
                this iteration didn't give, or none, where a worker gave steps; or
                sends_durable is False.
            InvalidArgumentError: what is no index, or a step of another DP rank.
            DataLossError, OutOfRangeError: a loaded state that can't be gone on from.
        """
        position = self._position_behind(step)
        if self._served is None or position is None:
            return
        steps = self._opened()
        if steps is None and step is None and position in self._loaded:
            self._served.mark_loaded(position)
        # A worker's subscription has taken the claim of one that is open here.
        elif steps is None or self._worker_loop.is_elsewhere():
            self._served.mark_durable(position)
        else:
            steps.acknowledge_durable(position)

    def _position_behind(self, step: Step | int | None) -> Position | None:
        """None: a state was loaded that is of before the first step."""
        if isinstance(step, Step):
            own = self._ranks[0]
            if step.dp_rank != own:
                given = f"one of dp_rank {step.dp_rank}"
                raise invalid_argument("step", given, f"one of dp_rank {own}")
            return Position.behind(step)
        last = self._last() if step is None else self._position
        if last is None and step is None and self._loaded:
            return None
        if last is None:
            raise FailedPreconditionError(
                f"step: {step} is not accepted, since none came from this dataset in "
                "this process; accepted: a Step, such as a DataLoader's worker gave"
            )
        index = None if step is None else checked_integer("step", step)
        if index is None or index == last.next_step - 1:
            return last
        if self._opened() is None or index >= last.next_step:
            raise FailedPreconditionError(
                f"step: {index} is not accepted; accepted: {last.next_step - 1}, "
                "or a Step"
            )
        return Position(index + 1, None, last.epoch)

    def report_latency(
        self,
        step: Step,
        micro_batch: MicroBatch | int,
        *,
        forward_ns: int = 0,
        backward_ns: int = 0,
    ) -> None:
        """Tells the server what a micro-batch took, for its metrics and `GetLatency`.

        Sent along with waits, now and then. Nothing without a server, or where this
        process has no subscription.

        Args:
            step: whose micro-batch it is.
            micro_batch: one of the step's own, or which of them, 0 to len(step) - 1.
            forward_ns: nanoseconds of its forward pass, 0 where not measured; at most
                2^63 - 1.
            backward_ns: of its backward pass.

        Raises:
            InvalidArgumentError: another time; what is no micro-batch of the step's.
        """
        forward = checked_integer("forward_ns", forward_ns, most=_MOST_NS)
        backward = checked_integer("backward_ns", backward_ns, most=_MOST_NS)
        steps = self._opened()
        if steps is not None:
            index = micro_batch_index(micro_batch, step)
            steps.report_latency(step.index, index, forward, backward)

    @property
    def step_wait(self) -> StepWait:
        """What was waited for steps so far, in this process."""
        steps = self._opened()
        return self._waited if steps is None else self._waited + steps.wait

    def close(self) -> None:
        """Ends in order: waits until every durable mark is confirmed."""
        self._end(confirm=True)

    def cancel(self) -> None:
        """Ends at once; iterating again opens anew.

        A durable mark that isn't confirmed is sent again then, or else may be lost.
        """
        self._end(confirm=False)

    def _end(self, *, confirm: bool) -> None:
        steps = self._opened()
        if steps is None:
            return
        self._checkpoint = self._checkpoint_at(self._position)
        self._waited += steps.wait
        self._steps = None
        if confirm:
            steps.close()
        else:
            steps.cancel()

    def __getstate__(self) -> dict[str, Any]:
        """For a DataLoader's worker: without what is open, at the same position."""
        state = dict(self.__dict__)
        state["_checkpoint"] = self._checkpoint_at(self._position)
        state["_steps"] = None
        state["_waited"] = StepWait()
        return state

    def __enter__(self) -> PackedDataset:
        """The dataset."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes it, or where an error is under way cancels it."""
        self._end(confirm=error is None)
