"""Sends bytes over a connection of their own and reads what a server makes of them."""

from __future__ import annotations

import base64
import contextlib
import selectors
import socket
import ssl
import struct
import time
from collections.abc import Callable, Mapping

import hpack
import http2_frames as h2
from error_rules import complaint, error_of_trailers
from storm_callers import Target, tls_context
from wire_case import Bytes

# Codes that gRPC itself gives to what is no call, without details.
_OF_GRPC = ("DEADLINE_EXCEEDED", "INTERNAL", "UNKNOWN", "UNAVAILABLE")
# Seconds in which a server on a busy machine answers or closes the connection.
ANSWER = 60.0
# Without a byte sent, when nothing is read: then the case is over.
_STUCK = 1.0
# Of a socket that doesn't wait.
_NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
# Of an answer that are kept.
_MOST = 64 << 20


class FrameReader:
    """What a server sends over HTTP/2, as far as a test looks at it."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._bytes = bytearray()
        self._decoder = hpack.Decoder()
        self._block = b""
        # Whether the marker was answered.
        self.marked = False
        self.complaints: list[str] = []
        # Codes that calls ended with, by stream.
        self.ended: dict[int, int] = {}

    def take(self, raw: bytes) -> None:
        """More bytes."""
        self._bytes += raw
        while len(self._bytes) >= 9:
            size = int.from_bytes(self._bytes[:3], "big")
            if len(self._bytes) < 9 + size:
                return
            kind, flags = self._bytes[3], self._bytes[4]
            stream = int.from_bytes(self._bytes[5:9], "big")
            self._frame(kind, flags, stream, bytes(self._bytes[9 : 9 + size]))
            del self._bytes[: 9 + size]

    def _frame(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == h2.PING and flags & h2.ACK and payload == h2.MARKER:
            self.marked = True
        if kind not in (h2.HEADERS, h2.CONTINUATION):
            return
        self._block += payload
        if not flags & h2.END_HEADERS:
            return
        block, self._block = self._block, b""
        try:
            decoded = self._decoder.decode(block, raw=True)
        except hpack.HPACKError as error:
            self.complaints.append(f"header fields that can't be read: {error}")
            return
        self._fields(stream, {bytes(name): bytes(value) for name, value in decoded})

    def _fields(self, stream: int, fields: Mapping[bytes, bytes]) -> None:
        status = fields.get(b"grpc-status")
        if status is None:
            return
        self.ended[stream] = int(status)
        if int(status) == 0:
            return
        details = fields.get(b"grpc-status-details-bin")
        message = fields.get(b"grpc-message", b"").decode("latin-1")
        raw = None if details is None else _from_base64(details)
        wrong = complaint(
            error_of_trailers(int(status), message, raw),
            _OF_GRPC,
        )
        if wrong is not None:
            self.complaints.append(wrong)


def _from_base64(value: bytes) -> bytes:
    return base64.b64decode(value + b"=" * (-len(value) % 4))


class _HttpReader:
    """What a server sends over HTTP/1."""

    def __init__(self) -> None:
        self.text = bytearray()
        self.marked = False

    def take(self, raw: bytes) -> None:
        if len(self.text) < _MOST:
            self.text += raw

    @property
    def complaints(self) -> list[str]:
        line = bytes(self.text[:12])
        if line and (not line.startswith(b"HTTP/1.1 ") or line.endswith(b" 500")):
            return [f"the answer begins with {line!r}"]
        return []


class _TlsReader:
    """What a server sends below TLS: whatever it is, the client has an answer."""

    complaints = ()

    def __init__(self) -> None:
        self.marked = False

    def take(self, raw: bytes) -> None:
        self.marked = bool(raw)


_READERS: dict[str, Callable[[], FrameReader | _HttpReader | _TlsReader]] = {
    "grpc": FrameReader,
    "http": _HttpReader,
    "tls": _TlsReader,
}


def _connect(port: str, target: Target) -> socket.socket:
    address = target.http if port == "http" else target.grpc
    host, _, number = address.rpartition(":")
    connected = socket.create_connection((host, int(number)), timeout=ANSWER)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if port == "grpc" and target.authority is not None:
        context = tls_context(target.authority)
        connected = context.wrap_socket(connected, server_hostname=host)
    connected.setblocking(False)
    return connected


def reset(connected: socket.socket) -> None:
    """Closes it so that the other end is told of a reset."""
    linger = struct.pack("ii", 1, 0)
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


class _Exchange:
    """One connection."""

    def __init__(self, action: Bytes, connected: socket.socket) -> None:
        self._action = action
        self._socket = connected
        self.reader = _READERS[action.port]()
        self.closed = False
        self._selector = selectors.DefaultSelector()

    def run(self) -> str | None:
        # What TLS complains of comes from records that a reset cut.
        with self._selector, contextlib.suppress(ConnectionError, ssl.SSLError):
            self._selector.register(self._socket, selectors.EVENT_READ)
            for piece in self._action.pieces:
                if not self._send(piece):
                    break
            if self._action.then == "answer" and not self._await_answer():
                return f"no answer within {ANSWER} s"
        return next(iter(self.reader.complaints), None)

    def _send(self, piece: bytes) -> bool:
        left = memoryview(piece)
        while left and not self.closed:
            events = selectors.EVENT_WRITE
            if self._action.reads:
                events |= selectors.EVENT_READ
            self._selector.modify(self._socket, events)
            ready = self._selector.select(_STUCK)
            if not ready:
                return False
            if ready[0][1] & selectors.EVENT_READ:
                self._read()
            if ready[0][1] & selectors.EVENT_WRITE:
                with contextlib.suppress(*_NOT_NOW):
                    left = left[self._socket.send(left) :]
        return not self.closed

    def _read(self) -> None:
        with contextlib.suppress(*_NOT_NOW):
            # Until there is none: the selector doesn't see what TLS has read already.
            while not self.closed:
                raw = self._socket.recv(1 << 16)
                self.closed = not raw
                self.reader.take(raw)

    def _await_answer(self) -> bool:
        end = time.monotonic() + ANSWER
        self._selector.modify(self._socket, selectors.EVENT_READ)
        while not self.closed and not self.reader.marked:
            left = end - time.monotonic()
            if left <= 0 or not self._selector.select(left):
                return False
            self._read()
        return True


def play_bytes(action: Bytes, target: Target) -> str | None:
    """What was wrong with the answer; None where nothing was."""
    with _connect(action.port, target) as connected:
        try:
            return _Exchange(action, connected).run()
        finally:
            if action.then == "reset":
                reset(connected)
