"""One thing that is done to a server, whole in itself, so that it can be done again."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Call:
    """A call through a client's library, whose messages are any bytes."""

    method: str
    messages: list[bytes]
    is_stream: bool
    metadata: list[tuple[str, str]] = field(default_factory=list)
    # Seconds; None: long enough for any.
    timeout: float | None = None
    # Cancel when so many answers have come; None: read to the end.
    cancel_after: int | None = None
    # No further message comes: without it the call stays open until it is cancelled.
    half_closes: bool = True
    gzip: bool = False


@dataclass(frozen=True)
class Bytes:
    """Bytes over a connection of its own."""

    # "grpc", "http", or "tls": that of gRPC below TLS, where the server has that.
    port: str
    # Sent one after another, each in a segment of its own where TCP lets it.
    pieces: list[bytes]
    # What comes then: "answer" awaits the marker's answer (of "tls": any), or the
    # server's close; "close" and "reset" end the connection at once.
    then: str = "answer"
    # Read while sending: without it the server's answers fill its buffers.
    reads: bool = True


@dataclass(frozen=True)
class Case:
    """What is done, and what it is about."""

    name: str
    action: Call | Bytes


def _written(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list):
        return [_written(each) for each in value]
    return value


def to_json(case: Case) -> str:
    """One line."""
    content = {name: _written(each) for name, each in asdict(case.action).items()}
    kind = type(case.action).__name__
    return json.dumps({"name": case.name, "kind": kind, **content})


def from_json(line: str) -> Case:
    """The case of a line."""
    values: dict[str, Any] = json.loads(line)
    name, kind = values.pop("name"), values.pop("kind")
    column = "messages" if kind == "Call" else "pieces"
    values[column] = [base64.b64decode(each) for each in values[column]]
    if kind == "Bytes":
        return Case(name, Bytes(**values))
    values["metadata"] = [(key, value) for key, value in values["metadata"]]
    return Case(name, Call(**values))
