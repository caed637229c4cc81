"""Does to a server what a case says, and tells what was wrong with its answers."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Protocol

import api_methods
import grpc
from call_error import error_of
from error_rules import complaint
from frame_exchange import play_bytes
from google.protobuf.message import DecodeError
from storm_callers import Target, channel_credentials
from wire_case import Bytes, Call, Case

_REQUESTS = {method.path: method.request for method in api_methods.methods()}
# Seconds that a unary call may take on a busy machine.
UNARY = 60.0
# After which a stream is given up: many have nothing more to say.
STREAM = 0.2
_OPTIONS = [
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", -1),
]
# Number above 32 bits, perhaps a tag: libraries differ in whether they read it.
_LONG_NUMBER = re.compile(rb"[\x80-\xff]{4}[\x10-\xff]")
# Calls over one connection.
_CALLS = 100
# Bytes of which no call comes that make a server cut the connection. Those of calls
# that end well are none.
_UNCLAIMED = 8 << 20


class _Started(Protocol):
    """A call that is under way, as grpc has it."""

    def cancel(self) -> bool: ...


class CasePlayer:
    """One lane, with a connection of its own. Not thread-safe."""

    def __init__(self, target: Target) -> None:
        """Connects when it is needed."""
        self._target = target
        self._channel: grpc.Channel | None = None
        self._calls = 0
        # Of the calls over this connection that didn't end well.
        self._failed_bytes = 0
        # Calls that ended well, by method.
        self.accepted: Counter[str] = Counter()

    def play(self, case: Case) -> str | None:
        """What was wrong; None where nothing was."""
        if isinstance(case.action, Bytes):
            return play_bytes(case.action, self._target)
        return self._play_call(case.action)

    def close(self) -> None:
        """Ends its connection."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
            self._failed_bytes = 0

    def _connected(self) -> grpc.Channel:
        if self._calls % _CALLS == 0:
            self.close()
        self._calls += 1
        if self._channel is None:
            self._channel = self._connect()
        return self._channel

    def _connect(self) -> grpc.Channel:
        target = self._target
        if target.authority is None:
            return grpc.insecure_channel(target.grpc, options=_OPTIONS)
        credentials = channel_credentials(target.authority)
        return grpc.secure_channel(target.grpc, credentials, options=_OPTIONS)

    def _play_call(self, call: Call) -> str | None:
        channel = self._connected()
        size = sum(map(len, call.messages))
        # Until it has ended well.
        self._failed_bytes += size
        try:
            if call.is_stream:
                self._stream(channel, call)
            else:
                self._unary(channel, call)
        except grpc.FutureCancelledError:
            return None
        except grpc.RpcError as error:
            mine = call.is_stream or call.timeout is not None
            if mine and error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
                # Perhaps while the answer came, whose details it then has.
                return None
            if error.code() == grpc.StatusCode.UNAVAILABLE and self._may_be_cut():
                self.close()
                return None
            return complaint(error_of(error))
        self._failed_bytes -= size
        return self._accept(call)

    def _may_be_cut(self) -> bool:
        return self._failed_bytes > _UNCLAIMED

    def _accept(self, call: Call) -> str | None:
        """A call ended well: every message was one, or it was cancelled before."""
        if call.cancel_after is not None:
            return None
        self.accepted[call.method] += 1
        request = _REQUESTS[call.method]
        for raw in filter(lambda raw: not _LONG_NUMBER.search(raw), call.messages):
            try:
                request.FromString(raw)
            except DecodeError:
                return f"{raw[:200]!r} was taken for a {request.DESCRIPTOR.name}"
        return None

    def _unary(self, channel: grpc.Channel, call: Call) -> None:
        method: grpc.UnaryUnaryMultiCallable[bytes, bytes]
        method = channel.unary_unary(call.method)
        under_way = method.future(
            call.messages[0],
            timeout=UNARY if call.timeout is None else call.timeout,
            metadata=tuple(call.metadata),
            compression=_compression(call),
        )
        if call.cancel_after is not None:
            under_way.cancel()
        under_way.result()

    def _stream(self, channel: grpc.Channel, call: Call) -> None:
        method: grpc.StreamStreamMultiCallable[bytes, bytes]
        method = channel.stream_stream(call.method)
        over = threading.Event()
        under_way = method(
            _sent(call, over),
            timeout=STREAM if call.timeout is None else call.timeout,
            metadata=tuple(call.metadata),
            compression=_compression(call),
        )
        try:
            _read(under_way, under_way, call.cancel_after)
        finally:
            over.set()


def _compression(call: Call) -> grpc.Compression:
    return grpc.Compression.Gzip if call.gzip else grpc.Compression.NoCompression


def _sent(call: Call, over: threading.Event) -> Iterator[bytes]:
    yield from call.messages
    if not call.half_closes:
        over.wait()


def _read(answers: Iterator[bytes], call: _Started, most: int | None) -> None:
    """All answers, or so many and then no more."""
    if most == 0:
        call.cancel()
        return
    for count, _ in enumerate(answers, start=1):
        if count == most:
            call.cancel()
            return
