"""Steps that a server sends."""

from __future__ import annotations

from dataclasses import dataclass, field

from evenpack import _native
from evenpack.awaited_marks import AwaitedMarks
from evenpack.client import Client
from evenpack.errors import FailedPreconditionError, InvalidArgumentError
from evenpack.invalid_argument import (
    check_class,
    check_seconds,
    checked_boolean,
    checked_integer,
    checked_text,
    invalid_argument,
    quoted,
)
from evenpack.sessions_at_exit import end_at_exit
from evenpack.steps import Position, StepWait
from evenpack.transport import TransportOptions
from evenpack.unconfirmed_mark import UnconfirmedMark
from evenpack.v1.job_pb2 import Layout

_MOST_CREDITS = (1 << 31) - 1


@dataclass(frozen=True)
class ServerOptions:
    """How a server's job is followed; the defaults suit a trainer.

    Attributes:
        subscriber: who asks, at most 256 bytes. A newer subscription of the same
            dp_rank, cp_rank and subscriber takes over, and the older one ends.
        sends_durable: this dataset marks its DP rank's steps as durable. One per DP
            rank does.
        layout: what the trainer can use, as "megatron_thd"; FailedPreconditionError
            where the job has another. None: any.
        credits: steps that the server may send before it hears that they came.
        max_buffered_bytes: what steps fetched ahead may take in memory: what a trainer
            lives on while the server is away.
        follow_epochs: go on in the job's new shape where it is reshaped and nothing
            that was handed out is withdrawn, rather than raise AbortedError.
        patience_seconds: how long a server that is away is waited for once there is no
            step left.
        transport: keepalive, limits.
    """

    subscriber: str = ""
    sends_durable: bool = True
    layout: str | None = None
    credits: int = 16
    max_buffered_bytes: int = 512 << 20
    follow_epochs: bool = False
    patience_seconds: float = 600.0
    transport: TransportOptions = field(default_factory=TransportOptions)

    def __post_init__(self) -> None:
        """Looks at the fields, and has numbers and truths as Python's own.

        Raises:
            InvalidArgumentError: one that can't be.
        """
        own = {
            "credits": checked_integer("credits", self.credits, 1, _MOST_CREDITS),
            "max_buffered_bytes": checked_integer(
                "max_buffered_bytes", self.max_buffered_bytes, 1
            ),
            "sends_durable": checked_boolean("sends_durable", self.sends_durable),
            "follow_epochs": checked_boolean("follow_epochs", self.follow_epochs),
        }
        for name, value in own.items():
            object.__setattr__(self, name, value)
        checked_text("subscriber", self.subscriber)
        self.layout_number()
        check_class("transport", self.transport, TransportOptions, "a TransportOptions")
        check_seconds("patience_seconds", self.patience_seconds, 0)

    def check_sends_durable(self) -> None:
        """Refuses a mark.

        Raises:
            FailedPreconditionError: this dataset isn't the one that sends them.
        """
        if not self.sends_durable:
            raise FailedPreconditionError(
                "sends_durable: False is not accepted by ack_durable(); accepted: "
                "True, on one dataset of each DP rank"
            )

    def layout_number(self) -> int:
        """Of the API; 0 for any. InvalidArgumentError: no such layout."""
        if self.layout is None:
            return 0
        layout = checked_text("layout", self.layout)
        try:
            return Layout.Value(f"LAYOUT_{layout.upper()}")
        except ValueError as error:
            names = [name.removeprefix("LAYOUT_").lower() for name in Layout.keys()[1:]]
            accepted = ", ".join(names)
            raise invalid_argument("layout", quoted(self.layout), accepted) from error


class ServerSteps:
    """Steps of one rank of a server's job, fetched ahead and verified."""

    def __init__(
        self,
        client: Client,
        *,
        job: str,
        dp_rank: int,
        cp_rank: int | None,
        position: Position | None,
        options: ServerOptions,
        marks: AwaitedMarks,
        unconfirmed: UnconfirmedMark,
    ) -> None:
        """Subscribes in the background.

        Args:
            client: whose connection is used.
            job: its name.
            dp_rank: whose micro-batches are wanted.
            cp_rank: whose slices come along.
            position: where to go on; at the first step that isn't durable if None.
            options: the rest.
            marks: told of long waits.
            unconfirmed: of the subscriptions before this one; sent with the first step
                that is asked for.
        """
        self._consumer = client.native.open_consumer(
            job=job,
            dp_rank=dp_rank,
            cp_rank=cp_rank,
            subscriber=options.subscriber,
            sends_durable=options.sends_durable,
            from_step=None if position is None else position.next_step,
            last_digest=None if position is None else position.digest,
            last_epoch=None
            if position is None or position.digest is None
            else position.epoch,
            layout=options.layout_number(),
            credits=options.credits,
            max_buffered_bytes=options.max_buffered_bytes,
            follow_epochs=options.follow_epochs,
        )
        end_at_exit(self._consumer)
        self._client = client
        self._job = job
        self._dp_rank = dp_rank
        self._options = options
        self._marks = marks
        self._unconfirmed = unconfirmed

    @property
    def wait(self) -> StepWait:
        """What Next() waited for; also reported to the server."""
        return StepWait(*self._consumer.step_wait)

    @property
    def buffered_steps(self) -> int:
        """Steps that were fetched ahead."""
        return self._consumer.buffered_steps

    def next(self) -> _native.Step | None:
        """The next step; None: the job is drained."""
        self._unconfirmed.send(self._acknowledge_at_once)
        self._marks.begin()
        return self._consumer.next(self._marks.look)

    def taken(self, _: Position, /) -> None:
        """Nothing: who goes on later says from where."""

    def checkpoint(self, _: Position, /) -> bytes | None:
        """None: the server has the job."""
        return None

    def acknowledge_durable(self, position: Position) -> None:
        """Marks the steps before a position as durable for this DP rank.

        Those that an earlier subscription gave are marked at once.

        Raises:
            FailedPreconditionError: this dataset isn't the one that sends them, or
                neither this subscription nor the position tells the step's epoch.
        """
        self._options.check_sends_durable()
        step = position.next_step - 1
        try:
            self._consumer.acknowledge_durable(step)
        except InvalidArgumentError as error:
            if position.digest is None:
                raise FailedPreconditionError(f"{error.message}, or a Step") from error
            self._acknowledge_at_once(position)

    def _acknowledge_at_once(self, position: Position) -> None:
        step = position.next_step - 1
        self._client.acknowledge(self._job, self._dp_rank, step, position.epoch)

    def report_latency(
        self, step: int, micro_batch: int, forward_ns: int, backward_ns: int
    ) -> None:
        """Notes what a micro-batch took, 0 where not measured; sent with waits."""
        self._consumer.report_latency(step, micro_batch, forward_ns, backward_ns)

    def close(self) -> None:
        """Waits until every durable mark is confirmed, and ends the subscription."""
        try:
            self._consumer.close()
        finally:
            self._unconfirmed.note(self._consumer.unconfirmed_mark)

    def cancel(self) -> None:
        """Ends the subscription at once."""
        try:
            self._consumer.cancel()
        finally:
            self._unconfirmed.note(self._consumer.unconfirmed_mark)
