"""Calls through a client's library: valid ones, changed ones, in any order."""

from __future__ import annotations

import random

import api_methods
import message_damage
from evenpack.v1 import packing_service_pb2 as api
from storm_callers import OPERATOR, TOKENS
from wire_case import Call, Case

_CREATIONS = 0.1
# Of the calls whose messages are changed.
_CHANGED = 0.4
# Headers that a client may send as it likes. A call has less than 8 KiB of them: gRPC
# 1.51 closes the connection of who cancels one that has more.
_METADATA: tuple[tuple[str, str], ...] = (
    ("x-odd", "a" * 3000),
    ("grpc-previous-rpc-attempts", "9"),
    ("user-agent", "%n%s"),
)
# What servers with roles know callers by.
_CREDENTIALS: tuple[tuple[str, str], ...] = (
    *(("authorization", f"Bearer {token}") for token in TOKENS.values()),
    ("authorization", "Bearer x"),
    ("authorization", "Bearer"),
    ("authorization", "Basic eDp5"),
    ("authorization", "Bearer " + "y" * 1000),
)
_STRANGERS = 0.2
# Of calls.
_TIMEOUTS = (0.0, 0.001, 0.01, 0.1)


def _messages(method: api_methods.Method, rng: random.Random) -> list[bytes]:
    sent = api_methods.requests(method, rng)
    if sent and rng.random() < _CHANGED:
        for _ in range(rng.choice([1, 1, 2, 5])):
            message_damage.change(rng.choice(sent), rng)
    raw = [message.SerializeToString() for message in sent]
    if raw and rng.random() < 0.25:
        at = rng.randrange(len(raw))
        raw[at] = message_damage.damaged(raw[at], rng)
    if method.is_stream and rng.random() < 0.3:
        rng.shuffle(raw)
    if method.is_stream and raw and rng.random() < 0.15:
        raw += rng.choices(raw, k=rng.choice([1, 30]))
    return raw


def _metadata(rng: random.Random) -> list[tuple[str, str]]:
    """Mostly of who may do everything."""
    held = [OPERATOR]
    if rng.random() < _STRANGERS:
        held = rng.choices(_CREDENTIALS, k=rng.choice([0, 1, 1, 1, 2]))
    return [*held, rng.choice(_METADATA)] if rng.random() < 0.1 else held


def _creation(rng: random.Random) -> Case:
    """A job, so that there are some for all the other calls."""
    request = api.CreateJobRequest(
        name=rng.choice(api_methods.JOBS), spec=api_methods.useful_spec(rng)
    )
    method = "/evenpack.v1.PackingService/CreateJob"
    raw = request.SerializeToString()
    return Case("creation", Call(method, [raw], is_stream=False, metadata=[OPERATOR]))


def call_case(rng: random.Random) -> Case:
    """A call of one of the methods."""
    if rng.random() < _CREATIONS:
        return _creation(rng)
    method = rng.choice(api_methods.methods())
    messages = _messages(method, rng)
    stays_open = method.is_stream and rng.random() < 0.2
    cancels = stays_open or rng.random() < 0.15
    return Case(
        method.path.rsplit("/", 1)[1],
        Call(
            method.path,
            messages,
            method.is_stream,
            metadata=_metadata(rng),
            timeout=rng.choice(_TIMEOUTS) if rng.random() < 0.1 else None,
            cancel_after=rng.choice([0, 0, 1, 2]) if cancels else None,
            half_closes=not stays_open,
            gzip=rng.random() < 0.1,
        ),
    )
