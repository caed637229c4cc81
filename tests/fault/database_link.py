"""A link to a database that is cut at the worst moment: a forwarder before its port."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self

_CHUNK = 1 << 16
# Without more of a request for so long, it is whole. Seconds.
_PAUSE = 0.2


class DatabaseLink:
    """Listens when it is made; works, but as it is told."""

    def __init__(self, port: int) -> None:
        """Forwards to a port of the loopback interface."""
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        # Whether the next large request arrives; None: nothing is to happen.
        self._arrives: bool | None = None
        self._large = 0
        # Answers don't pass; connections don't work.
        self._is_mute = False
        self._is_cut = False
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        """The link, which works."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends it and all of its connections."""
        self._cut()
        self._listener.close()

    def cut_at(self, large: int, *, arrives: bool) -> None:
        """The next request of so many bytes to the database is the last.

        It passes as a whole or not at all, its answer doesn't. No connection works then
        until `heal`.
        """
        with self._lock:
            self._large, self._arrives = large, arrives

    def heal(self) -> None:
        """Connections that are made from now on work."""
        self._is_mute = self._is_cut = False

    def _cut(self) -> None:
        with self._lock:
            self._is_cut = True
            cut = list(self._open)
        for each in cut:
            # One whose peer has gone says so.
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._is_cut:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self._to))
            with self._lock:
                self._open |= {client, server}
            for ends in ((client, server), (server, client)):
                way = threading.Thread(target=self._pump, args=(*ends, client))
                way.daemon = True
                way.start()

    def _pump(
        self, source: socket.socket, sink: socket.socket, client: socket.socket
    ) -> None:
        with contextlib.suppress(OSError):
            while chunk := source.recv(_CHUNK):
                if source is client and self._is_last(chunk, source, sink):
                    break
                if source is client or not self._is_mute:
                    sink.sendall(chunk)
        with self._lock:
            # Each end is closed by who reads it.
            self._open.discard(source)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        source.close()

    def _is_last(
        self, chunk: bytes, client: socket.socket, server: socket.socket
    ) -> bool:
        with self._lock:
            if self._arrives is None or len(chunk) < self._large:
                return False
            arrives, self._arrives = self._arrives, None
            self._is_mute = True
        if arrives:
            client.settimeout(_PAUSE)
            with contextlib.suppress(TimeoutError):
                while chunk:
                    server.sendall(chunk)
                    chunk = client.recv(_CHUNK)
        self._cut()
        return True
