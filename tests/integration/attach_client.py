"""A trainer's connection to a worker, byte by byte: docs/worker.md has the layout."""

from __future__ import annotations

import mmap
import os
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

MAGIC = int.from_bytes(b"evenpack", "little")
VERSION = 3
_HOST = 0
_REQUEST = struct.Struct("<QIIQ")
_RESULT = struct.Struct("<qqII352s")
_TOKEN_BYTES = 16


@dataclass
class Attached:
    """What the worker gave."""

    connection: socket.socket
    token: bytes
    arena: mmap.mmap


def attach(folder: str, arena_bytes: int, version: int = VERSION) -> Attached:
    """Attaches; an OSError with the worker's status code and message if it refuses."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(Path(folder) / "attach.sock"))
        connection.sendall(_REQUEST.pack(MAGIC, version, _HOST, arena_bytes))
        reply = b""
        while len(reply) < _TOKEN_BYTES + _RESULT.size:
            part = connection.recv(_TOKEN_BYTES + _RESULT.size - len(reply))
            if not part:
                raise ConnectionError("the worker has closed the connection")
            reply += part
        _, _, code, size, message = _RESULT.unpack(reply[_TOKEN_BYTES:])
        if code != 0:
            raise OSError(code, message[:size].decode())
        _, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
    except BaseException:
        connection.close()
        raise
    arena = mmap.mmap(descriptors[0], 0)
    os.close(descriptors[0])
    return Attached(connection, reply[:_TOKEN_BYTES], arena)
