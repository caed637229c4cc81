"""A TCP proxy before a server that breaks the calls that go through it, by a plan.

It reads HTTP/2's frames (RFC 9113, section 4.1), so that it can break a connection
just before a request reaches the server, just before the answer reaches the client, or
in the middle of a message.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import random
import socket
import struct
import threading
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

_PREFACE = 24
_HEADER = 9
_DATA = 0
_HEADERS = 1
# Seconds: of each frame of a slow connection, at most; and of one that stands still.
_LONGEST_DELAY = 0.004
_STALL = 0.25


class Fault(enum.Enum):
    """What becomes of a connection."""

    # It ends by a reset
    # in place of a call's first frame to the server;
    BEFORE_REQUEST = enum.auto()
    # in place of a call's first frame to the client;
    BEFORE_RESPONSE = enum.auto()
    # in the middle of messages to the server;
    IN_REQUEST = enum.auto()
    # in the middle of messages to the client.
    IN_RESPONSE = enum.auto()
    # Nothing passes for a while, then all goes on.
    STALL = enum.auto()
    # Each frame takes some milliseconds.
    DELAY = enum.auto()


# Whether it is of what goes to the server, and whether calls or frames are counted.
_PLACES = {
    Fault.BEFORE_REQUEST: (True, True),
    Fault.BEFORE_RESPONSE: (False, True),
    Fault.IN_REQUEST: (True, False),
    Fault.IN_RESPONSE: (False, False),
    Fault.STALL: (False, False),
    Fault.DELAY: (False, False),
}


@dataclass(frozen=True)
class Injection:
    """A fault, and when it comes: at which call, or which frame with data, from 1."""

    fault: Fault
    at: int = 1


# What becomes of each connection, one after another: of the injections of one, each
# comes once.
Plan = Sequence[Sequence[Injection]]


def seeded_plan(seed: int, rounds: int) -> Plan:
    """Each fault once a round, in an order and at moments that the seed gives."""
    rng = random.Random(seed)
    plan = []
    for _ in range(rounds):
        slow = rng.sample([Fault.STALL, Fault.DELAY], 2)
        connections = [
            [Injection(Fault.BEFORE_REQUEST)],
            [Injection(Fault.BEFORE_RESPONSE)],
        ] + [
            [
                Injection(slow.pop(), rng.randint(1, 3)),
                Injection(end, rng.randint(4, 16)),
            ]
            for end in (Fault.IN_REQUEST, Fault.IN_RESPONSE)
        ]
        plan += rng.sample(connections, len(connections))
    return plan


@dataclass
class _Way:
    """One direction of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    to_server: bool
    calls: set[int] = field(default_factory=set)
    data_frames: int = 0

    def note(self, kind: int, stream: int, size: int) -> tuple[int, int]:
        """Counts a frame: which call it begins, which with data it is; 0 for none."""
        call = message = 0
        if kind == _HEADERS and stream not in self.calls:
            self.calls.add(stream)
            call = len(self.calls)
        elif kind == _DATA and size > 0:
            self.data_frames += 1
            message = self.data_frames
        return call, message


def _reset(writer: asyncio.StreamWriter) -> None:
    """Closes a connection so that its other end is told of a reset."""
    taken: socket.socket = writer.get_extra_info("socket")
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class _Connection:
    """A client's connection and the one that is made for it to the server."""

    def __init__(self, ways: Sequence[_Way], due: Iterable[Injection]) -> None:
        self._ways = ways
        self._random = random.Random(0)
        self._is_slow = False
        self._is_reset = False
        # Injections to come.
        self.due = list(due)

    async def run(self) -> None:
        """Until either end is gone, or the connection is to be reset."""
        pumps = [asyncio.create_task(self._pump(way)) for way in self._ways]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for way in self._ways:
                await self._close(way.writer)

    async def _close(self, writer: asyncio.StreamWriter) -> None:
        if self._is_reset:
            _reset(writer)
        else:
            writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def _pump(self, way: _Way) -> None:
        try:
            if way.to_server:
                way.writer.write(await way.reader.readexactly(_PREFACE))
            while not self._is_reset:
                await self._pass_frame(way)
                await way.writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return

    async def _pass_frame(self, way: _Way) -> None:
        header = await way.reader.readexactly(_HEADER)
        size = int.from_bytes(header[:3], "big")
        frame = header + await way.reader.readexactly(size)
        call, message = way.note(header[3], int.from_bytes(header[5:], "big"), size)
        for injection in self.due:
            to_server, of_calls = _PLACES[injection.fault]
            count = call if of_calls else message
            if way.to_server == to_server and count == injection.at:
                self.due.remove(injection)
                await self._inject(injection.fault, way, frame)
                break
        if self._is_reset:
            return
        if self._is_slow:
            await asyncio.sleep(self._random.uniform(0, _LONGEST_DELAY))
        way.writer.write(frame)

    async def _inject(self, fault: Fault, way: _Way, frame: bytes) -> None:
        if fault is Fault.STALL:
            await asyncio.sleep(_STALL)
        elif fault is Fault.DELAY:
            self._is_slow = True
        else:
            self._is_reset = True
        if fault in (Fault.IN_REQUEST, Fault.IN_RESPONSE):
            way.writer.write(frame[: len(frame) // 2])
            await way.writer.drain()


class ChaosProxy:
    """Listens when it is made. Each connection takes the next entry of the plan.

    One that ended before leaves what had not come to another; connections behind the
    plan work.
    """

    def __init__(self, server: str, plan: Plan) -> None:
        """A proxy before the server at HOST:PORT."""
        self._host, _, port = server.rpartition(":")
        self._port = int(port)
        self._plan = deque(plan)
        # How often each fault came.
        self.injected: Counter[Fault] = Counter()
        self.address = ""
        self._connections: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._ending = asyncio.Event()
        listening = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(listening,))
        self._thread.start()
        listening.wait()

    def __enter__(self) -> Self:
        """The proxy, which listens."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends it and all of its connections."""
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join()

    def _run(self, listening: threading.Event) -> None:
        try:
            self._loop.run_until_complete(self._serve(listening))
        finally:
            listening.set()
            self._loop.close()

    async def _serve(self, listening: threading.Event) -> None:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        self.address = f"{host}:{port}"
        listening.set()
        await self._ending.wait()
        server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            # Cancelled when the proxy ends.
            with contextlib.suppress(asyncio.CancelledError):
                await self._connect(reader, writer)
        finally:
            self._connections.discard(task)

    async def _connect(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            up_reader, up_writer = await asyncio.open_connection(self._host, self._port)
        except ConnectionError:
            _reset(writer)
            return
        planned = self._plan.popleft() if self._plan else []
        ways = (
            _Way(reader, up_writer, to_server=True),
            _Way(up_reader, writer, to_server=False),
        )
        connection = _Connection(ways, planned)
        try:
            await connection.run()
        finally:
            left = connection.due
            self.injected.update(each.fault for each in planned if each not in left)
            if left:
                self._plan.appendleft(left)
