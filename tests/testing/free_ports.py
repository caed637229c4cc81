"""Ports for programs that don't say which they took, or are told them by a file."""

from __future__ import annotations

import contextlib
import random
import socket
from pathlib import Path

# What services have by their name is below.
_FIRST = 20_000
_GIVEN = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_ports(count: int) -> list[int]:
    """Ports that follow each other, of which none is listened on now.

    They are below those that the kernel gives, to connections too: nobody is given one
    between here and its use.
    """
    given = int(_GIVEN.read_text("ascii").split()[0])
    starts = list(range(_FIRST, max(given, _FIRST + count) - count + 1))
    random.SystemRandom().shuffle(starts)
    for start in starts:
        ports = [*range(start, start + count)]
        with contextlib.ExitStack() as sockets, contextlib.suppress(OSError):
            for port in ports:
                sockets.enter_context(socket.create_server(("", port)))
            return ports
    raise AssertionError(f"no {count} ports from {_FIRST} to {given} are free")
