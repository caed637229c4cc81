"""The service over grpcio, as the native client asks for it.

The client's logic (retries, resuming by cursor, digests, prefetch) is native; what goes
over the wire goes through grpcio, with which trainers configure proxies. Messages are
bytes here, and a status is (code, message, bytes of a google.rpc.Status).
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import grpc

from evenpack.errors import FailedPreconditionError
from evenpack.invalid_argument import (
    check_class,
    check_seconds,
    checked_integer,
    invalid_argument,
    quoted,
)
from evenpack.secured_channel import SecuredChannel, Status
from evenpack.security import Security, security_for

# The process that made the first channel: gRPC's threads are there, and not in one that
# is forked from it, where calls would hang.
_process: int | None = None


def check_process() -> None:
    """Before gRPC is used.

    Raises:
        FailedPreconditionError: in a process forked from one that had a channel.
    """
    global _process
    if _process not in (None, os.getpid()):
        raise FailedPreconditionError(
            "gRPC was in use when this process was forked, and would hang here; "
            "accepted: a process that is spawned, as by "
            "DataLoader(..., multiprocessing_context='spawn')"
        )
    _process = os.getpid()


_PACKING_SERVICE = "/evenpack.v1.PackingService/"
_DETAILS_KEY = "grpc-status-details-bin"


@dataclass(frozen=True)
class TransportOptions:
    """How the server is reached.

    Attributes:
        credentials: for TLS, as grpcio makes them, in place of a Security.
        keepalive_seconds: a connection that was silent for so long is asked whether it
            is alive; 10 to 10^6.
        keepalive_timeout_seconds: given up if it doesn't answer within that; 0.001 to
            10^6.
        max_message_bytes: of a message, either way; 1 to 2^31 - 1.
        channel_options: more of gRPC's channel arguments.
    """

    credentials: grpc.ChannelCredentials | None = None
    keepalive_seconds: float = 30.0
    keepalive_timeout_seconds: float = 10.0
    max_message_bytes: int = 64 << 20
    channel_options: Sequence[tuple[str, str | int]] = ()

    def __post_init__(self) -> None:
        """Looks at the fields, and has the number as Python's own.

        Raises:
            InvalidArgumentError: one that can't be.
        """
        if self.credentials is not None:
            accepted = "a grpc.ChannelCredentials, or None"
            check_class(
                "credentials", self.credentials, grpc.ChannelCredentials, accepted
            )
        check_seconds("keepalive_seconds", self.keepalive_seconds, 10, 1e6)
        check_seconds(
            "keepalive_timeout_seconds", self.keepalive_timeout_seconds, 0.001, 1e6
        )
        most = checked_integer(
            "max_message_bytes", self.max_message_bytes, 1, (1 << 31) - 1
        )
        object.__setattr__(self, "max_message_bytes", most)
        _check_channel_options(self.channel_options)


def _check_channel_options(options: object) -> None:
    accepted = "pairs of a name and a value"
    if not isinstance(options, Sequence) or isinstance(options, str | bytes):
        raise invalid_argument("channel_options", quoted(options), accepted)
    for i, pair in enumerate(options):
        if not (isinstance(pair, Sequence) and len(pair) == 2):
            raise invalid_argument(f"channel_options[{i}]", quoted(pair), accepted)


def check_transport(options: object, security: object) -> None:
    """Refuses what is neither None nor of the class.

    Raises:
        InvalidArgumentError: naming `options` or `security`, which is not shown.
    """
    if options is not None:
        accepted = "a TransportOptions, or None"
        check_class("options", options, TransportOptions, accepted)
    if security is not None:
        check_class("security", security, Security, "a Security, or None")


def _status(call: grpc.Call) -> Status:
    """How a call ended; blocks until it has."""
    code = call.code()
    details = b""
    for key, value in call.trailing_metadata() or ():
        if key == _DETAILS_KEY:
            details = value if isinstance(value, bytes) else value.encode()
    return int(code.value[0]), call.details() or "", details


class UnaryCall:
    """A call of one message, begun."""

    def __init__(
        self, future: grpc.Future[bytes], over: SecuredChannel, channel: grpc.Channel
    ) -> None:
        """Of grpcio's own, which lasts as long as this."""
        self._future = future
        self._over = over
        self._channel = channel

    def finish(self) -> tuple[Status, bytes]:
        """Blocks until the answer; its bytes are empty where there is none."""
        try:
            answer = bytes(self._future.result())
        except grpc.RpcError as error:
            return self._over.judged(_status(cast(grpc.Call, error))), b""
        except grpc.FutureCancelledError:
            return (grpc.StatusCode.CANCELLED.value[0], "cancelled", b""), b""
        self._over.answered()
        return (0, "", b""), answer

    def cancel(self) -> None:
        """finish() returns CANCELLED, if there was no answer yet."""
        self._future.cancel()


class StreamCall:
    """A bidirectional call, begun. One thread reads; any thread may do the rest."""

    def __init__(self, over: SecuredChannel, path: str) -> None:
        """Begins it."""
        self._over = over
        self._channel = over.channel()
        self._changed = threading.Condition()
        self._queued: deque[bytes] = deque()
        self._no_more = False
        self._ended = False
        method: grpc.StreamStreamMultiCallable[bytes, bytes]
        method = self._channel.stream_stream(path)
        self._call = method(self._requests(), metadata=over.metadata())

    def _requests(self) -> Iterator[bytes]:
        """What grpcio sends; it takes the next message when the last is on its way."""
        while True:
            with self._changed:
                self._changed.wait_for(
                    lambda: self._queued or self._no_more or self._ended
                )
                if not self._queued or self._ended:
                    return
                message = self._queued.popleft()
                self._changed.notify_all()
            yield message

    def _end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def write(self, message: bytes) -> None:
        """Queues a message; nothing happens if the call has ended."""
        with self._changed:
            if not self._ended and not self._no_more:
                self._queued.append(message)
                self._changed.notify_all()

    def writes_done(self) -> None:
        """No message follows those queued."""
        with self._changed:
            self._no_more = True
            self._changed.notify_all()

    def await_unsent_below(self, messages: int) -> None:
        """Blocks until fewer queued ones are left, or the call has ended."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._queued) < messages or self._ended)

    def unsent(self) -> int:
        """Messages that are queued and not taken to be sent."""
        with self._changed:
            return len(self._queued)

    def read(self) -> bytes | None:
        """Blocks until a message comes, or the call has ended: None."""
        try:
            message = bytes(next(self._call))
        except (StopIteration, grpc.RpcError, grpc.FutureCancelledError):
            self._end()
            return None
        self._over.answered()
        return message

    def finish(self) -> Status:
        """After read() returned None: how the call ended."""
        return self._over.judged(_status(self._call))

    def cancel(self) -> None:
        """Ends the call, if it has not."""
        self._call.cancel()
        self._end()


class Transport:
    """A channel to a server. Thread-safe.

    All that begins something raises FailedPreconditionError in a process forked from
    one that had a channel.
    """

    def __init__(
        self,
        address: str,
        options: TransportOptions | None = None,
        security: Security | None = None,
        was_answered: threading.Event | None = None,
    ) -> None:
        """Connects when the first call is made.

        Args:
            address: "HOST:PORT", or a name with a scheme of gRPC's ("unix:PATH"); of
                one server.
            options: the defaults where None.
            security: what the environment says where None (evenpack.Security).
            was_answered: shared with transports to other servers of the database.

        Raises:
            InvalidArgumentError: the security can't work, or there are credentials
                beside it.
        """
        check_process()
        check_transport(options, security)
        given = options or TransportOptions()
        arguments: list[tuple[str, str | int]] = [
            ("grpc.keepalive_time_ms", int(given.keepalive_seconds * 1000)),
            ("grpc.keepalive_timeout_ms", int(given.keepalive_timeout_seconds * 1000)),
            # Also where nothing else is sent: gRPC asks once a minute at most else.
            ("grpc.http2.max_pings_without_data", 0),
            ("grpc.max_receive_message_length", given.max_message_bytes),
            ("grpc.max_send_message_length", given.max_message_bytes),
            # The native client waits between its attempts itself; gRPC's own wait on
            # top would grow to two minutes.
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 1000),
            # What an attempt may take; a server that thousands connect to takes its
            # time.
            ("grpc.min_reconnect_backoff_ms", 5000),
            # A pod that was started again has another address under its name.
            ("grpc.dns_min_time_between_resolutions_ms", 5000),
            # Or a client would share a connection with another of its address.
            ("grpc.use_local_subchannel_pool", 1),
            *given.channel_options,
        ]
        if given.credentials is None:
            secured = security_for(address, security)
        elif security is None:
            secured = Security()
        else:
            raise invalid_argument(
                "security", "one with options.credentials", "one of the two"
            )
        self._channel = SecuredChannel(
            address, secured, arguments, given.credentials, was_answered
        )

    def call(self, path: str, request: bytes, seconds: float) -> UnaryCall:
        """Begins a call of one message, within seconds; `path`: "/service/method"."""
        check_process()
        method: grpc.UnaryUnaryMultiCallable[bytes, bytes]
        channel = self._channel.channel()
        method = channel.unary_unary(path)
        future = method.future(request, seconds, metadata=self._channel.metadata())
        return UnaryCall(future, self._channel, channel)

    def open(self, method: str) -> StreamCall:
        """Begins a bidirectional call of the packing service."""
        check_process()
        return StreamCall(self._channel, _PACKING_SERVICE + method)

    def close(self) -> None:
        """Cancels what is under way."""
        self._channel.close()


class ServerTransports:
    """Transports to servers that share a database, each with the same security."""

    def __init__(
        self,
        addresses: str,
        options: TransportOptions | None,
        security: Security | None,
    ) -> None:
        """Makes none.

        Args:
            addresses: of the servers that are known at first, with commas between them.
            options: as for Transport.
            security: likewise. The environment is asked now: servers that others name
                are met later.

        Raises:
            InvalidArgumentError: the security can't work for these addresses.
        """
        check_transport(options, security)
        if security is None and (options is None or options.credentials is None):
            security = security_for(addresses, None)
        self._options = options
        self._security = security
        self._was_answered = threading.Event()

    def at(self, address: str) -> Transport:
        """Of one server, also of another than those that are known at first.

        Raises:
            InvalidArgumentError: as Transport: a token for another machine without TLS.
        """
        return Transport(address, self._options, self._security, self._was_answered)
