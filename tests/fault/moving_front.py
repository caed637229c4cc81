"""One address before servers of which one leads: where connections go can be moved."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self

_CHUNK = 1 << 16


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            sink.sendall(data)
    for each in (source, sink):
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


class MovingFront:
    """Listens when it is made. Leaving the context ends it and its connections."""

    def __init__(self) -> None:
        """A front that points to nobody: connections are closed at once."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        host, port = self._listener.getsockname()
        self.address = f"{host}:{port}"
        self._lock = threading.Lock()
        self._target: str | None = None
        self._connections: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        """The front."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends it."""
        self.point_to(None)
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def point_to(self, server: str | None) -> None:
        """Cuts all connections; new ones go to this server, or nowhere."""
        with self._lock:
            self._target = server
            cut, self._connections = self._connections, []
        for each in cut:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                taken, _ = self._listener.accept()
                self._connect(taken)

    def _connect(self, taken: socket.socket) -> None:
        with self._lock:
            try:
                if self._target is None:
                    raise ConnectionRefusedError
                server = socket.create_connection(_address(self._target))
            except OSError:
                taken.close()
                return
            self._connections += [taken, server]
        for ends in ((taken, server), (server, taken)):
            threading.Thread(target=_pump, args=ends, daemon=True).start()
