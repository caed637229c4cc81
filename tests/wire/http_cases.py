"""Requests to the HTTP port: right ones, odd ones, and what is no HTTP."""

from __future__ import annotations

import random

import api_methods
import http2_frames as h2
from storm_callers import OPERATOR
from wire_case import Bytes, Case

_PATHS = (
    "/",
    "/metrics",
    "/healthz",
    "/readyz",
    "/api/v1/jobs",
    "/none",
    "/../../etc/passwd",
    "/%2e%2e/%00",
    "//",
    "*",
    "http://elsewhere/",
)
_QUERIES = (
    "",
    "page_size=2",
    "page_size=-1",
    "page_size=99999999999999999999",
    "steps=4294967295&from_step=18446744073709551615",
    "steps=2&steps=3",
    "a=" + "b" * 5000,
    "%zz=%",
    "&&&==&",
)
_METHODS = ("GET", "GET", "GET", "HEAD", "POST", "OPTIONS", "get", "X" * 3000, "")
_VERSIONS = ("HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/9.9", "")
_OPERATOR = f"Authorization: {OPERATOR[1]}".encode()
_FIELDS = (
    b"Authorization: Bearer x",
    b"Authorization:",
    b"Host: x",
    b"Connection: keep-alive",
    b"Range: bytes=" + b"0-," * 1000,
    b"Accept-Encoding: br, gzip, deflate",
    b"Content-Length: 18446744073709551616",
    b"Content-Length: 10",
    b"Transfer-Encoding: chunked",
    b"Expect: 100-continue",
    b"If-None-Match: *",
    b"Upgrade: h2c",
    b": empty",
    b"no colon",
    b"X: \0\xff",
    b" folded: x",
    b"X: " + b"y" * 9000,
)
_ENDS = (b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r")


def _target(rng: random.Random) -> str:
    if rng.random() < 0.5:
        job = rng.choice([*api_methods.JOBS, "guard", "none", "%2F"])
        path = f"/api/v1/jobs/{job}"
        if rng.random() < 0.4:
            step = rng.choice(["0", "3", "x", "18446744073709551616"])
            path += f"/steps/{step}/micro-batches/{rng.choice(['0', '-1', '9'])}"
    else:
        path = rng.choice(_PATHS)
    query = rng.choice(_QUERIES)
    return f"{path}?{query}" if query else path


def _request(rng: random.Random) -> bytes:
    end = rng.choice(_ENDS)
    line = f"{rng.choice(_METHODS)} {_target(rng)} {rng.choice(_VERSIONS)}".encode()
    fields = rng.sample(_FIELDS, rng.choice([0, 1, 1, 3]))
    if rng.random() < 0.7:
        fields.append(_OPERATOR)
    return end.join([line, *fields, b"", b""])


def http_case(rng: random.Random) -> Case:
    """Bytes for the HTTP port."""
    choice = rng.randrange(6)
    name = "http"
    sent = _request(rng)
    if choice == 0:
        name, sent = "pipelined", sent * rng.choice([2, 50])
    elif choice == 1:
        name, sent = "cut", sent[: rng.randrange(len(sent) + 1)]
    elif choice == 2:
        name, sent = "noise", rng.randbytes(rng.choice([1, 300, 10_000]))
    elif choice == 3:
        name, sent = "grpc", h2.opening() + h2.headers(1, h2.call_fields("/x/y"))
    pieces = [sent]
    if rng.random() < 0.3:
        size = max(1, len(sent) // 10)
        pieces = [sent[at : at + size] for at in range(0, len(sent), size)]
    # What is whole is answered at once; else the server would wait for its time.
    then = "answer" if choice in (0, 4, 5) and b"\r\n\r\n" in sent else "close"
    if then == "close" and rng.random() < 0.5:
        then = "reset"
    reads = then == "answer" or rng.random() < 0.5
    return Case(name, Bytes("http", pieces, then, reads))
