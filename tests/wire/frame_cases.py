"""Frames of HTTP/2 and gRPC that no client's library would send."""

from __future__ import annotations

import gzip
import itertools
import random
import zlib
from collections.abc import Callable
from functools import cache

import api_methods
import http2_frames as h2
import job_specs
from evenpack.v1 import packing_service_pb2 as api
from storm_callers import OPERATOR
from wire_case import Bytes, Case

Pieces = list[bytes]

_UNARY = "/evenpack.v1.PackingService/GetJob"
_INGEST = "/evenpack.v1.PackingService/Ingest"
_STEPS = "/evenpack.v1.PackingService/StreamSteps"
_GROUP = "/evenpack.v1.PackingService/JoinGroup"
_STREAMS = (_INGEST, _STEPS, _GROUP)
_PATHS = (_UNARY, *_STREAMS, "/grpc.health.v1.Health/Watch")
# Above what the storm's server takes of a message.
_BOMB = 8 << 20


def _request(rng: random.Random) -> bytes:
    return api.GetJobRequest(name=rng.choice(api_methods.JOBS)).SerializeToString()


def _opening_of(path: str, rng: random.Random) -> bytes:
    """The first message of a stream of calls, which leaves it open."""
    job = rng.choice(api_methods.JOBS)
    if path == _INGEST:
        opening = api.OpenIngest(job=job, stream=rng.choice(job_specs.STREAMS))
        return api.IngestRequest(open=opening).SerializeToString()
    if path == _STEPS:
        asked = api.Subscribe(job=job, subscriber=f"{rng.randrange(1000)}")
        return api.StreamStepsRequest(subscribe=asked).SerializeToString()
    seat = api.OpenGroup(job=job, cp_size=2, member=f"{rng.randrange(1000)}")
    return api.JoinGroupRequest(open=seat).SerializeToString()


def _fields(path: str, *more: tuple[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """The header fields of a caller who may do everything."""
    name, token = OPERATOR
    return h2.call_fields(path, (name.encode(), token.encode()), *more)


def _call(
    fields: h2.Fields, payload: bytes, flags: int = h2.END_STREAM, stream: int = 1
) -> bytes:
    return h2.headers(stream, fields) + h2.data(stream, payload, flags)


def odd_fields(rng: random.Random) -> Pieces:
    """Header fields that are wrong, double, missing, or of another protocol."""
    fields = _fields(rng.choice(_PATHS))
    odd: list[list[tuple[bytes, bytes]]] = [
        [(b"content-type", b"text/html")],
        [(b"content-type", b"application/grpc+json")],
        [(b":path", b"/x")],
        [(b":method", b"GET")],
        [(b"Upper", b"x")],
        [(b"a\0b\n", b"\r\n\0")],
        [(b"", b"")],
        [(b":unknown", b"x")],
        [(b"connection", b"close"), (b"transfer-encoding", b"chunked")],
        [(b"x-bin", b"not base64 !!")],
        [(b"grpc-status", b"0")],
        [(b"grpc-encoding", b"none-such")],
        [(b"grpc-accept-encoding", b"," * 500)],
        [(b"content-length", b"-1")],
    ]
    choice = rng.randrange(4)
    if choice == 0:
        del fields[rng.randrange(len(fields))]
    elif choice == 1:
        at = rng.randrange(len(fields))
        fields[at] = (fields[at][0], rng.randbytes(rng.choice([0, 1, 20])))
    else:
        fields = fields + rng.choice(odd)
        if choice == 3:
            rng.shuffle(fields)
    return [_call(fields, h2.message(_request(rng)))]


def odd_timeout(rng: random.Random) -> Pieces:
    """Deadlines that aren't."""
    values = (b"0n", b"1n", b"99999999H", b"-1S", b"1", b"1X", b"999999999S", b"")
    field = (b"grpc-timeout", rng.choice(values))
    path = rng.choice((_UNARY, *_STREAMS))
    return [_call(_fields(path, field), h2.message(_request(rng)), 0)]


def _gzip(raw: bytes) -> bytes:
    """The same at all times."""
    return gzip.compress(raw, mtime=0)


@cache
def _bomb(compress: Callable[[bytes], bytes]) -> bytes:
    return compress(bytes(_BOMB))


def compression(rng: random.Random) -> Pieces:
    """Flags of compression that lie, and what grows when it is inflated."""
    body, encoding, flag = rng.choice(
        [
            (_bomb(_gzip), b"gzip", 1),
            (_bomb(zlib.compress), b"deflate", 1),
            (_request(rng), b"gzip", 1),
            (_gzip(_request(rng))[:-9], b"gzip", 1),
            (_request(rng), b"identity", 1),
            (_request(rng), b"snappy", 1),
            (_request(rng), b"gzip", rng.choice([2, 255])),
        ]
    )
    path = rng.choice((_UNARY, *_STREAMS))
    fields = _fields(path, (b"grpc-encoding", encoding))
    return [_call(fields, h2.message(body, flag))]


def half_message(rng: random.Random) -> Pieces:
    """A message of another size than it says, or one that never comes whole."""
    raw = _request(rng)
    sizes = (0, 1, len(raw) + 1, 1 << 20, 1 << 31, (1 << 32) - 1)
    sent = h2.message(raw, 0, rng.choice(sizes))[: rng.randrange(5 + len(raw) + 1)]
    flags = rng.choice([0, h2.END_STREAM])
    pieces = [_call(_fields(rng.choice(_PATHS)), sent, flags)]
    if flags == 0 and rng.random() < 0.5:
        pieces.append(h2.reset(1))
    return pieces


def trailers(rng: random.Random) -> Pieces:
    """Header fields where none belong."""
    late = h2.headers(1, [(b"x", b"y")], h2.END_HEADERS | h2.END_STREAM)
    early = h2.headers(1, [(b"x", b"y")])
    fields = _fields(rng.choice(_PATHS))
    sent = h2.message(_request(rng))
    between = rng.choice([late, early, late + early, late + h2.data(1, sent)])
    return [_call(fields, sent, 0), between, h2.data(1, b"", h2.END_STREAM)]


def header_flood(rng: random.Random) -> Pieces:
    """More header fields than anybody reads, in one frame or in many."""
    choice = rng.randrange(4)
    if choice == 0:
        field = (b"x-flood", b"v" * rng.choice([8000, 9000, 16000]))
        return [h2.headers(1, _fields(_UNARY, field), 5)]
    if choice == 1:
        fields = _fields(_UNARY, *[(b"x%d" % i, b"v" * 8) for i in range(800)])
        return [h2.headers(1, fields, h2.END_HEADERS | h2.END_STREAM)]
    part = h2.field_block([(b"x-part", b"v" * 1000)])
    more = h2.frame(h2.CONTINUATION, 0, 1, part) * rng.choice([10, 500])
    first = h2.headers(1, _fields(_UNARY), 0)
    last = h2.frame(h2.CONTINUATION, h2.END_HEADERS, 1)
    return [first, more] if choice == 2 else [first, more, last]


def odd_compressed_fields(rng: random.Random) -> Pieces:
    """HPACK that names what there isn't, or doesn't end."""
    block = rng.choice(
        [
            h2.integer(5000, 7, 0x80),
            h2.integer(1 << 40, 7, 0x80),
            h2.integer(1 << 30, 5, 0x20),
            b"\x80",
            b"\xff" + b"\x80" * rng.choice([10, 10_000]),
            b"\x00" + h2.integer(1 << 31, 7) + b"name",
            b"\x00\x82\xff\xff\x00",
            b"\x40" + h2.integer(3000, 7) + b"k" * 3000 + h2.integer(1, 7) + b"v",
            rng.randbytes(64),
        ]
    )
    return [h2.frame(h2.HEADERS, rng.choice([4, 5]), 1, block)]


def control_flood(rng: random.Random) -> Pieces:
    """Settings, pings and others without an end, each of which asks for an answer."""
    one = rng.choice(
        [
            h2.settings(),
            h2.settings((h2.INITIAL_WINDOW_SIZE, 0)),
            h2.ping(b"flooding"),
            h2.frame(h2.PRIORITY, 0, 1, bytes(5)),
            h2.frame(h2.DATA, 0, 1),
            h2.window_update(0, 1),
            h2.reset(1),
            h2.frame(200, 0xFF, 0, b"unknown"),
        ]
    )
    path = rng.choice(_PATHS)
    return [h2.headers(1, _fields(path)), one * rng.choice([100, 3000])]


def rapid_reset(rng: random.Random) -> Pieces:
    """Calls that are opened and reset at once (CVE-2023-44487)."""
    path = rng.choice(_PATHS)
    sent = h2.message(_request(rng) if path == _UNARY else _opening_of(path, rng))
    flags = h2.END_STREAM if path == _UNARY else 0
    count = rng.choice([20, 300])
    calls = [
        _call(_fields(path), sent, flags, stream) + h2.reset(stream)
        for stream in range(1, 2 * count, 2)
    ]
    return [b"".join(calls)]


def many_streams(rng: random.Random) -> Pieces:
    """Calls that stay open, side by side, and say little."""
    pieces = []
    for stream in range(1, 2 * rng.choice([20, 150]), 2):
        path = rng.choice(_STREAMS)
        opened = h2.headers(stream, _fields(path))
        if rng.random() < 0.5:
            opened += h2.data(stream, h2.message(_opening_of(path, rng)))
        pieces.append(opened)
    return [b"".join(pieces)]


def wrong_frames(rng: random.Random) -> Pieces:
    """Frames of sizes, streams and orders that there aren't."""
    call = _fields(_UNARY)
    odd = [
        h2.headers(2, call),
        h2.headers(0, call),
        h2.headers(5, call) + h2.headers(3, call),
        h2.headers(1, call) + h2.headers(1, call) * 2,
        h2.data(0, b"x"),
        h2.data(99, b"x"),
        h2.frame(h2.CONTINUATION, 0, 1, b"x"),
        h2.frame(h2.PUSH_PROMISE, 4, 1, bytes(4)),
        h2.frame(h2.GOAWAY, 0, 0, bytes(8)),
        h2.frame(h2.PING, 0, 0, b"short"),
        h2.frame(h2.PING, 0, 1, bytes(8)),
        h2.frame(h2.RST_STREAM, 0, 0, bytes(4)),
        h2.frame(h2.SETTINGS, h2.ACK, 0, bytes(6)),
        h2.frame(h2.SETTINGS, 0, 0, bytes(5)),
        h2.settings((h2.INITIAL_WINDOW_SIZE, 0xFFFFFFFF), (5, 1), (99, 1)),
        h2.window_update(0, 0),
        h2.window_update(0, 0x7FFFFFFF) * 2,
        h2.headers(1, call) + h2.window_update(1, 0x7FFFFFFF) * 2,
        h2.frame(h2.DATA, h2.PADDED, 1, b"\xff"),
        (1 << 23).to_bytes(3, "big") + bytes([0, 0, 0, 0, 0, 1]),
        rng.randbytes(rng.choice([9, 100])),
    ]
    return [b"".join(rng.sample(odd, rng.choice([1, 1, 3])))]


def wrong_protocol(rng: random.Random) -> Pieces:
    """What is no HTTP/2 at all, or only nearly."""
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + rng.randbytes(500)
    return [
        rng.choice(
            [
                b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                b"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n",
                hello,
                h2.PREFACE[: rng.randrange(len(h2.PREFACE))],
                h2.PREFACE,
                h2.PREFACE + h2.data(1, b"x"),
                rng.randbytes(300),
                b"PROXY TCP4 1.2.3.4 1.2.3.4 1 1\r\n",
                b"",
            ]
        )
    ]


_KINDS: tuple[Callable[[random.Random], Pieces], ...] = (
    odd_fields,
    odd_timeout,
    compression,
    half_message,
    trailers,
    header_flood,
    odd_compressed_fields,
    control_flood,
    rapid_reset,
    many_streams,
    wrong_frames,
    wrong_protocol,
)


def _in_pieces(sent: bytes, rng: random.Random) -> Pieces:
    """As many segments, wherever they are cut."""
    cuts = sorted(rng.randrange(len(sent) + 1) for _ in range(rng.choice([1, 3, 20])))
    ends = [0, *cuts, len(sent)]
    return [sent[begin:end] for begin, end in itertools.pairwise(ends)]


def frame_case(rng: random.Random) -> Case:
    """Bytes for the port of gRPC."""
    kind = rng.choice(_KINDS)
    pieces = kind(rng)
    if kind is not wrong_protocol:
        pieces = [h2.opening(), *pieces]
    if rng.random() < 0.2:
        pieces = _in_pieces(b"".join(pieces), rng)
    then = rng.choice(["answer", "answer", "close", "reset"])
    # What is no HTTP/2 may be answered by nothing, and a frame may announce so much
    # that the marker is taken for a part of it.
    if then == "answer" and (
        kind is wrong_protocol or not h2.ends_with_a_frame(b"".join(pieces))
    ):
        then = "close"
    if then == "answer":
        pieces = [*pieces, h2.ping()]
    reads = then == "answer" or rng.random() < 0.5
    return Case(kind.__name__, Bytes("grpc", pieces, then, reads))
