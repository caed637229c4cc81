"""A peer over HTTP/2 that does what it likes, and nothing by itself."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable
from types import TracebackType
from typing import Self

import http2_frames as h2
from child_process import DEADLINE
from google.protobuf.message import Message

SERVICE = "/evenpack.v1.PackingService"


def connected(address: str, receive_buffer: int | None = None) -> socket.socket:
    """A connection whose calls end within DEADLINE."""
    host, _, port = address.rpartition(":")
    peer = socket.socket()
    if receive_buffer is not None:
        # Before it connects: the window is agreed on then.
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    peer.settimeout(DEADLINE)
    peer.connect((host, int(port)))
    return peer


class RawPeer:
    """One connection that never answers what it is asked."""

    def __init__(
        self, address: str, *, window: int = 65535, receive_buffer: int | None = None
    ) -> None:
        """Connects; `window`: what it says that it takes of each call."""
        self._socket = connected(address, receive_buffer)
        self._stream = -1
        more = h2.window_update(0, window - 65535) if window > 65535 else b""
        self.send(h2.opening((h2.INITIAL_WINDOW_SIZE, window)) + more)

    def __enter__(self) -> Self:
        """The peer, which is connected."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Closes the connection."""
        self._socket.close()

    def send(self, raw: bytes) -> None:
        """Any bytes."""
        self._socket.sendall(raw)

    def send_while_taken(self, pieces: Iterable[bytes]) -> int:
        """How many of them were sent whole.

        Ends early where the server takes no more for a second, or closes.
        """
        self._socket.settimeout(1.0)
        count = 0
        try:
            for piece in pieces:
                self._socket.sendall(piece)
                count += 1
        except OSError:
            return count
        return count

    def call(self, method: str, *messages: Message) -> int:
        """Opens a call that it never ends; its number."""
        self._stream += 2
        self.send(h2.headers(self._stream, h2.call_fields(f"{SERVICE}/{method}")))
        for each in messages:
            self.send(h2.data(self._stream, h2.message(each.SerializeToString())))
        return self._stream

    def await_close(self) -> None:
        """Reads, and answers nothing, until the server closes or resets."""
        self._socket.settimeout(DEADLINE)
        try:
            while self._socket.recv(1 << 16):
                pass
        except ConnectionError:
            return

    def await_bytes(self) -> None:
        """Until the server has sent something."""
        self._socket.settimeout(DEADLINE)
        if not self._socket.recv(1):
            raise AssertionError("the server closed the connection")

    def await_ping(self) -> None:
        """Until the server has answered one, behind all that it has sent so far."""
        self._socket.settimeout(DEADLINE)
        self.send(h2.ping(b"answered"))
        received = b""
        while b"answered" not in received:
            more = self._socket.recv(1 << 16)
            if not more:
                raise AssertionError("the server closed the connection")
            received += more

    def reset(self) -> None:
        """Ends it by a reset."""
        linger = struct.pack("ii", 1, 0)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._socket.close()
