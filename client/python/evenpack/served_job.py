"""A server's job, as a dataset follows it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf

from evenpack.awaited_marks import AwaitedMarks
from evenpack.broadcast_steps import BroadcastRanks, BroadcastSteps
from evenpack.client import Client
from evenpack.invalid_argument import check_class, checked_text
from evenpack.security import Security
from evenpack.server_steps import ServerOptions, ServerSteps
from evenpack.steps import Position, Steps
from evenpack.transport import check_transport
from evenpack.unconfirmed_mark import UnconfirmedMark
from evenpack.v1.job_pb2 import Job

_MOST_PATIENCE_SECONDS = 1.0


@dataclass(frozen=True)
class ServedJob:
    """Which job, for whom. It opens nothing until it is asked to, and can be pickled.

    Attributes:
        address: the server's, or several, as `Client` takes them.
        name: the job's.
        dp_rank: whose micro-batches are wanted.
        cp_rank: whose slices come along.
        security: TLS, and who this client is; what the environment says where None.
        options: how it is followed.
        shared: the process group over which one rank sends the others each step.
        unconfirmed: the mark that its subscriptions of this process ended with.
    """

    address: str
    name: str
    dp_rank: int
    cp_rank: int | None
    security: Security | None
    options: ServerOptions
    shared: BroadcastRanks | None
    unconfirmed: UnconfirmedMark = field(default_factory=UnconfirmedMark)

    def __post_init__(self) -> None:
        """Looks at what kind of value each is, but for the ranks.

        Raises:
            InvalidArgumentError: one of another kind, by the dataset's name for it.
        """
        checked_text("address", self.address)
        checked_text("job", self.name)
        check_class("options", self.options, ServerOptions, "a ServerOptions, or None")
        check_transport(None, self.security)

    def follow(self, position: Position | None) -> Steps:
        """Its steps from there on; from the first that isn't durable where None."""
        if self.shared is None:
            return self._subscribe(position, self.cp_rank, self.unconfirmed)
        return BroadcastSteps(
            lambda cp_rank: self._subscribe(position, cp_rank, self.unconfirmed),
            self.shared,
        )

    def mark_durable(self, position: Position) -> None:
        """Marks the DP rank's steps before a position, without a subscription.

        Raises:
            FailedPreconditionError: the options are of a dataset that doesn't.
        """
        self.options.check_sends_durable()
        self._client().acknowledge(
            self.name, self.dp_rank, position.next_step - 1, position.epoch
        )

    def mark_loaded(self, position: Position) -> None:
        """Marks the steps before a state's position, where the job has that digest.

        By a subscription, which alone compares it. A group's other ranks leave it to
        the one that subscribes.

        Raises:
            DataLossError: the state is of another history; nothing was marked.
            FailedPreconditionError: as mark_durable.
        """
        self.options.check_sends_durable()
        if self.shared is not None and not self.shared.subscribes:
            return
        if position.digest is None:
            self.mark_durable(position)
            return
        # No step is wanted of it.
        few = replace(self.options, credits=1, max_buffered_bytes=1)
        steps = self._subscribe(position, self.cp_rank, UnconfirmedMark(), few)
        try:
            steps.acknowledge_durable(position)
            steps.close()
        except BaseException:
            steps.cancel()
            raise

    def _subscribe(
        self,
        position: Position | None,
        cp_rank: int | None,
        unconfirmed: UnconfirmedMark,
        options: ServerOptions | None = None,
    ) -> Steps:
        return ServerSteps(
            self._client(),
            job=self.name,
            dp_rank=self.dp_rank,
            cp_rank=cp_rank,
            position=position,
            options=self.options if options is None else options,
            marks=AwaitedMarks(self._job_now),
            unconfirmed=unconfirmed,
        )

    def _job_now(self) -> Job:
        """For who waits for a step meanwhile, which may come."""
        return self._client(_MOST_PATIENCE_SECONDS).get_job(self.name)

    def _client(self, most_patience: float = inf) -> Client:
        return Client(
            self.address,
            security=self.security,
            options=self.options.transport,
            patience_seconds=min(self.options.patience_seconds, most_patience),
        )
