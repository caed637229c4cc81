"""A peer over HTTP/2 that sends no more of its calls than the server says it takes."""

from __future__ import annotations

import select

import http2_frames as h2
from raw_peer import RawPeer

# What a call and a connection may send at first (RFC 9113, section 6.9.2).
_FIRST = 65535
_FRAME = 16384
# Seconds after which the server takes no more.
_QUIET = 3.0


class WindowedPeer(RawPeer):
    """One connection, whose frames that come are read for the windows they open."""

    def __init__(self, address: str) -> None:
        """Connects."""
        super().__init__(address)
        # By call; 0 is the connection.
        self._windows = {0: _FIRST}
        self._unread = b""
        self.sent = 0

    def send_unfinished(self, method: str, calls: int, size: int) -> None:
        """Of each of so many calls a message of so many bytes, but for its last ones.

        Until all were sent, or the server takes no more. `sent` counts them.
        """
        left = {}
        begin = h2.message(b"", size=size)
        for _ in range(calls):
            call = self.call(method)
            self.send(h2.data(call, begin))
            self._windows[call] = _FIRST - len(begin)
            left[call] = size - 1
        self._windows[0] -= len(begin) * calls
        try:
            while left:
                before = self.sent
                for call in list(left):
                    self._send_some(call, left)
                more = self.sent > before
                if not self._read_windows(0 if more else _QUIET) and not more:
                    break
        except OSError:
            return

    def _send_some(self, call: int, left: dict[int, int]) -> None:
        most = min(self._windows[call], self._windows[0], left[call]) // _FRAME * _FRAME
        if most > 0:
            self.send(h2.data(call, bytes(most)))
            self._windows[call] -= most
            self._windows[0] -= most
            left[call] -= most
            self.sent += most
        if left[call] < _FRAME:
            del left[call]

    def _read_windows(self, seconds: float) -> bool:
        """Whether something came."""
        ready, _, _ = select.select([self._socket], [], [], seconds)
        if not ready:
            return False
        raw = self._socket.recv(1 << 20)
        if not raw:
            raise ConnectionError("closed")
        self._unread += raw
        while len(self._unread) >= 9:
            size = int.from_bytes(self._unread[:3], "big")
            if len(self._unread) < 9 + size:
                break
            kind, flags = self._unread[3:5]
            call = int.from_bytes(self._unread[5:9], "big")
            payload = self._unread[9 : 9 + size]
            self._unread = self._unread[9 + size :]
            if kind == h2.WINDOW_UPDATE and call in self._windows:
                self._windows[call] += int.from_bytes(payload, "big")
            elif kind == h2.SETTINGS and not flags & h2.ACK:
                self.send(h2.frame(h2.SETTINGS, h2.ACK, 0))
        return True
