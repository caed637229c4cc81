"""What a peer may say instead of a handshake of TLS, or in the middle of one."""

from __future__ import annotations

import random
from collections.abc import Callable

import http2_frames as h2
from wire_case import Bytes, Case

Pieces = list[bytes]

# RFC 8446: types of records and of handshake messages, and extensions.
_CHANGE_CIPHER, _ALERT, _HANDSHAKE, _DATA = 20, 21, 22, 23
_CLIENT_HELLO = 1
_SERVER_NAME, _GROUPS, _SIGNATURES, _ALPN = 0, 10, 13, 16
_VERSIONS, _KEY_SHARE = 43, 51
_MOST_OF_RECORD = 1 << 14


def _sized(raw: bytes, width: int) -> bytes:
    """Behind its size."""
    return len(raw).to_bytes(width, "big") + raw


def _record(kind: int, raw: bytes, version: int = 0x0301) -> bytes:
    return bytes([kind]) + version.to_bytes(2, "big") + _sized(raw, 2)


def _extensions(rng: random.Random) -> list[tuple[int, bytes]]:
    share = b"\x00\x1d" + _sized(rng.randbytes(32), 2)
    return [
        (_SERVER_NAME, _sized(b"\x00" + _sized(b"localhost", 2), 2)),
        (_GROUPS, _sized(b"\x00\x1d\x00\x17", 2)),
        (_SIGNATURES, _sized(b"\x04\x03\x08\x04\x04\x01", 2)),
        (_ALPN, _sized(_sized(b"h2", 1), 2)),
        (_VERSIONS, _sized(b"\x03\x04\x03\x03", 1)),
        (_KEY_SHARE, _sized(share, 2)),
    ]


def _hello(rng: random.Random, extensions: list[tuple[int, bytes]]) -> bytes:
    """A handshake message that opens a connection."""
    suites = b"\x13\x01\x13\x02\x13\x03\xc0\x2b\xc0\x2f"
    held = b"".join(
        kind.to_bytes(2, "big") + _sized(raw, 2) for kind, raw in extensions
    )
    body = b"\x03\x03" + rng.randbytes(32) + _sized(rng.randbytes(32), 1)
    body += _sized(suites, 2) + _sized(b"\x00", 1) + _sized(held, 2)
    return bytes([_CLIENT_HELLO]) + _sized(body, 3)


def odd_hello(rng: random.Random) -> Pieces:
    """Extensions that are missing, double, wrong, or more than anybody reads."""
    held = _extensions(rng)
    choice = rng.randrange(5)
    at = rng.randrange(len(held))
    if choice == 0:
        del held[at]
    elif choice == 1:
        held.append(held[at])
    elif choice == 2:
        held[at] = (held[at][0], rng.randbytes(rng.choice([0, 1, 100])))
    elif choice == 3:
        held.append((rng.randrange(1 << 16), bytes(rng.choice([1000, 12_000]))))
    else:
        names = b"".join(_sized(b"x%d" % i, 1) for i in range(1000))
        held[3] = (_ALPN, _sized(rng.choice([names, _sized(b"http/1.1", 1), b""]), 2))
    return [_record(_HANDSHAKE, _hello(rng, held))]


def damaged_hello(rng: random.Random) -> Pieces:
    """Bytes of it changed, left out, or cut off."""
    raw = bytearray(_record(_HANDSHAKE, _hello(rng, _extensions(rng))))
    choice = rng.randrange(3)
    if choice == 0:
        for _ in range(rng.choice([1, 3, 20])):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
    elif choice == 1:
        del raw[rng.randrange(len(raw)) :]
    else:
        at = rng.randrange(len(raw))
        del raw[at : at + rng.randrange(1, 9)]
    return [bytes(raw)]


def split_hello(rng: random.Random) -> Pieces:
    """Over many records, which is allowed, and empty ones, which aren't."""
    raw = _hello(rng, _extensions(rng))
    size = rng.choice([1, 7, 100])
    parts = [raw[at : at + size] for at in range(0, len(raw), size)]
    if rng.random() < 0.3:
        parts.insert(rng.randrange(len(parts)), b"")
    return [_record(_HANDSHAKE, part) for part in parts]


def after_hello(rng: random.Random) -> Pieces:
    """Records that don't belong behind it."""
    hello = _record(_HANDSHAKE, _hello(rng, _extensions(rng)))
    odd = [
        hello,
        _record(_CHANGE_CIPHER, b"\x01") * rng.choice([1, 100]),
        _record(_ALERT, bytes([1, 0])) * rng.choice([1, 100]),
        _record(_ALERT, bytes([2, 40])),
        _record(_DATA, rng.randbytes(100), 0x0303),
        _record(_HANDSHAKE, bytes([20]) + _sized(rng.randbytes(32), 3), 0x0303),
        _record(99, b"x"),
        h2.opening(),
    ]
    return [hello, b"".join(rng.sample(odd, rng.choice([1, 2])))]


def odd_record(rng: random.Random) -> Pieces:
    """Records of sizes and kinds that there aren't, and no hello at all."""
    kind = rng.choice([_CHANGE_CIPHER, _ALERT, _HANDSHAKE, _DATA, 0, 255])
    size = rng.choice([0, 1, _MOST_OF_RECORD, (1 << 16) - 1])
    long = bytes([_CLIENT_HELLO]) + b"\xff\xff\xff" + bytes(_MOST_OF_RECORD - 4)
    return [
        rng.choice(
            [
                _record(kind, bytes(size)),
                _record(kind, bytes(min(size, 9)), rng.choice([0, 0x0200, 0xFFFF])),
                # A message of 16 MB, as far as it says.
                _record(_HANDSHAKE, long) + _record(_HANDSHAKE, bytes(16384)) * 20,
                # SSL 2.
                b"\x80\x2e\x01\x00\x02" + rng.randbytes(43),
                h2.opening() + h2.headers(1, h2.call_fields("/x/y")),
                b"GET / HTTP/1.1\r\n\r\n",
                rng.randbytes(300),
            ]
        )
    ]


def whole_hello(rng: random.Random) -> Pieces:
    """A right one, of a peer that then says no more."""
    return [_record(_HANDSHAKE, _hello(rng, _extensions(rng)))]


_KINDS: tuple[Callable[[random.Random], Pieces], ...] = (
    odd_hello,
    damaged_hello,
    split_hello,
    after_hello,
    odd_record,
    whole_hello,
)


def tls_case(rng: random.Random) -> Case:
    """Bytes for the port of gRPC as it is before TLS."""
    kind = rng.choice(_KINDS)
    pieces = kind(rng)
    then = rng.choice(["close", "reset"])
    if kind is whole_hello:
        then = "answer"
    reads = then == "answer" or rng.random() < 0.5
    return Case(kind.__name__, Bytes("tls", pieces, then, reads))
