"""Which of the servers that share jobs a client asks: the one that they point to."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self, TypeVar

import grpc
from call_error import CallError, error_of
from child_process import DEADLINE

# Between attempts where no server says how long to wait, seconds.
_PAUSE = 0.02

T = TypeVar("T")


def is_lost(error: grpc.RpcError) -> bool:
    """Of a call that others may answer: its server is gone, or doesn't lead the job.

    One that ends while calls come cancels those that it hasn't seen.
    """
    if error.code() == grpc.StatusCode.CANCELLED:
        return not error_of(error).reason
    return error.code() == grpc.StatusCode.UNAVAILABLE


class LeaderChannel:
    """Channels to servers, `A,B,C`, of which any points to the one that leads a job.

    Of one client's, and not thread-safe.
    """

    def __init__(
        self, servers: str, options: Sequence[tuple[str, int | str]] = ()
    ) -> None:
        """Asks the first of them; `options` are channel arguments."""
        self._given = servers.split(",")
        self._options = options
        self._channels: dict[str, grpc.Channel] = {}
        self._next = 0
        # Whom it asks.
        self.address = self._given[0]

    def __enter__(self) -> Self:
        """Nothing more."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes all channels."""
        for channel in self._channels.values():
            channel.close()

    @property
    def channel(self) -> grpc.Channel:
        """To the server that it asks now."""
        found = self._channels.get(self.address)
        if found is None:
            found = grpc.insecure_channel(self.address, options=self._options)
            self._channels[self.address] = found
        return found

    @property
    def waits(self) -> bool:
        """Whether calls wait for a connection: there is nobody else to ask."""
        return len(self._given) == 1

    def turn(self, error: grpc.RpcError) -> None:
        """After a call that ended so: goes on to whom to ask next."""
        told = error_of(error)
        if told.reason == "LED_ELSEWHERE":
            self.address = told.metadata["address"]
        elif not self.waits:
            self._ask_another(told)
        elif told.retry_seconds is not None:
            time.sleep(told.retry_seconds)

    def _ask_another(self, told: CallError) -> None:
        time.sleep(_PAUSE if told.retry_seconds is None else told.retry_seconds)
        self._next = (self._next + 1) % len(self._given)
        self.address = self._given[self._next]

    def call(self, what: Callable[[grpc.Channel], T]) -> T:
        """What a call comes to that is repeated while it is lost."""
        end = time.monotonic() + DEADLINE
        while True:
            try:
                return what(self.channel)
            except grpc.RpcError as error:
                if not is_lost(error) or time.monotonic() > end:
                    raise
                self.turn(error)
