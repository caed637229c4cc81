"""HTTP/2's frames (RFC 9113) as bytes, right ones and wrong ones.

Header fields are written as literals without indexing and without Huffman coding (RFC
7541, section 6.2.2), so that any bytes may stand in them.
"""

from __future__ import annotations

from collections.abc import Iterable

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA = 0
HEADERS = 1
PRIORITY = 2
RST_STREAM = 3
SETTINGS = 4
PUSH_PROMISE = 5
PING = 6
GOAWAY = 7
WINDOW_UPDATE = 8
CONTINUATION = 9

END_STREAM = 0x1
ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8

INITIAL_WINDOW_SIZE = 4
CANCEL = 8

# What the server must answer when it has taken all that came before.
MARKER = b"evenpack"

Fields = Iterable[tuple[bytes, bytes]]


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame of any kind."""
    head = len(payload).to_bytes(3, "big") + bytes([kind & 0xFF, flags & 0xFF])
    return head + (stream & 0xFFFFFFFF).to_bytes(4, "big") + payload


def integer(value: int, prefix_bits: int, first: int = 0) -> bytes:
    """An integer of HPACK, behind the bits of `first`."""
    most = (1 << prefix_bits) - 1
    if value < most:
        return bytes([first | value])
    rest = value - most
    out = [first | most]
    while rest >= 128:
        out.append(rest % 128 | 128)
        rest //= 128
    return bytes([*out, rest])


def field_block(fields: Fields) -> bytes:
    """Header fields as HPACK."""
    block = b""
    for name, value in fields:
        block += b"\x00" + integer(len(name), 7) + name
        block += integer(len(value), 7) + value
    return block


def call_fields(path: str, *more: tuple[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """The header fields of a call of gRPC."""
    return [
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", path.encode()),
        (b":authority", b"localhost"),
        (b"te", b"trailers"),
        (b"content-type", b"application/grpc"),
        *more,
    ]


def headers(stream: int, fields: Fields, flags: int = END_HEADERS) -> bytes:
    """A frame that opens a call."""
    return frame(HEADERS, flags, stream, field_block(fields))


def message(raw: bytes, flag: int = 0, size: int | None = None) -> bytes:
    """A message of gRPC, behind its flag and its size, which may be another."""
    told = len(raw) if size is None else size
    return bytes([flag]) + told.to_bytes(4, "big") + raw


def data(stream: int, payload: bytes, flags: int = 0) -> bytes:
    """Bytes of a call, in frames of the size that a server takes at first."""
    parts = [payload[at : at + 16384] for at in range(0, len(payload), 16384)] or [b""]
    sent = [frame(DATA, 0, stream, part) for part in parts[:-1]]
    return b"".join(sent) + frame(DATA, flags, stream, parts[-1])


def settings(*values: tuple[int, int]) -> bytes:
    """Settings by their numbers."""
    pairs = [key.to_bytes(2, "big") + value.to_bytes(4, "big") for key, value in values]
    return frame(SETTINGS, 0, 0, b"".join(pairs))


def reset(stream: int, code: int = CANCEL) -> bytes:
    """The end of a call by its client."""
    return frame(RST_STREAM, 0, stream, code.to_bytes(4, "big"))


def window_update(stream: int, more: int) -> bytes:
    """Room for so many bytes more."""
    return frame(WINDOW_UPDATE, 0, stream, more.to_bytes(4, "big"))


def ping(payload: bytes = MARKER, flags: int = 0) -> bytes:
    """A ping of eight bytes."""
    return frame(PING, flags, 0, payload)


def ends_with_a_frame(sent: bytes) -> bool:
    """Whether what comes behind a preface and frames is read as a frame of its own."""
    at = len(PREFACE)
    while at + 9 <= len(sent):
        at += 9 + int.from_bytes(sent[at : at + 3], "big")
    return at == len(sent)


def opening(*values: tuple[int, int]) -> bytes:
    """How a client's connection begins."""
    return PREFACE + settings(*values)
