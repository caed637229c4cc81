"""Every method of the API by its descriptor, and messages that may be sent to it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import documents
import job_specs
from evenpack.v1 import cost_pb2, cost_profile_pb2, job_pb2
from evenpack.v1 import packing_service_pb2 as api
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

_MODULES = (api, cost_profile_pb2)
# Of the storm: the guard's is not among them.
JOBS = [f"storm-{number}" for number in range(4)]
PROFILES = ("profile-0", "profile-1")
# Messages of messages beyond this depth stay empty.
_DEEPEST = 6


@dataclass(frozen=True)
class Method:
    """One RPC."""

    path: str
    request: type[Message]
    is_stream: bool


# What a server gave, so that RestoreJob and RewindJob are sent one that can be read.
_checkpoints: list[bytes] = []


def learn_checkpoint(raw: bytes) -> None:
    """Requests have it from now on."""
    _checkpoints.append(raw)


def fields_of(message: Message) -> list[FieldDescriptor]:
    """All that its kind has."""
    return cast(list[FieldDescriptor], list(message.DESCRIPTOR.fields))


def _method_of(method: MethodDescriptor) -> Method:
    path = f"/{method.containing_service.full_name}/{method.name}"
    return Method(path, GetMessageClass(method.input_type), method.client_streaming)


def methods() -> list[Method]:
    """All of the API's."""
    return [
        _method_of(method)
        for module in _MODULES
        for service in module.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    ]


def service_names() -> set[str]:
    """The services that these are of."""
    return {method.path.split("/")[1] for method in methods()}


def useful_spec(rng: random.Random) -> job_pb2.JobSpec:
    """That of a job in which something happens."""
    make = rng.choice([job_specs.small_spec, job_specs.balanced_spec])
    spec = make(steps_ahead=rng.choice([1, 4, 64]))
    if rng.random() < 0.2:
        spec.payload_mode = job_pb2.PAYLOAD_MODE_BY_VALUE
    return spec


def _batch(rng: random.Random) -> api.DocumentBatch:
    count = rng.choice([1, 20, 200])
    return documents.batch_of(rng.randrange(2), rng.choice([0, 0, 20, 200]), count)


def _profile(rng: random.Random) -> cost_profile_pb2.CostProfile:
    table = cost_pb2.KernelLatency(
        q_lens=[128, 256], kv_lens=[128, 256], slice_ns=[1000, 2000, 0, 3000]
    )
    return cost_profile_pb2.CostProfile(
        name=rng.choice(PROFILES),
        heads=cost_profile_pb2.AttentionHeads(query_heads=4, kv_heads=2, head_size=64),
        element_type=cost_profile_pb2.ELEMENT_TYPE_FLOAT32,
        forward=table,
        backward=table if rng.random() < 0.5 else None,
    )


# What a field of this message is where it is to be of use.
_WHOLE: dict[str, Callable[[random.Random], Message]] = {
    "JobSpec": useful_spec,
    "CostProfile": _profile,
    "DocumentBatch": _batch,
}
_TEXTS = {
    "stream": job_specs.STREAMS,
    "subscriber": ("", "somebody"),
    "path": ("/etc/passwd", "tokens"),
    "page_token": ("", "storm-1"),
    "profile": PROFILES,
}
_SIZES = {"cp_size": (2,), "cp_rank": (0, 1), "dp_rank": (0, 1), "credits": (0, 1, 16)}


def _number(at: FieldDescriptor, rng: random.Random) -> int:
    if at.name in _SIZES:
        return rng.choice(_SIZES[at.name])
    return rng.choice([0, 0, 1, 1, 2, 5, 20])


def _text(at: FieldDescriptor, rng: random.Random) -> str:
    if at.name in _TEXTS:
        return rng.choice(_TEXTS[at.name])
    assert at.containing_type is not None
    if "CostProfile" in at.containing_type.name:
        return rng.choice(PROFILES)
    return rng.choice(JOBS)


def _scalar(
    at: FieldDescriptor, rng: random.Random
) -> int | float | bool | str | bytes:
    if at.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        if at.type == FieldDescriptor.TYPE_BYTES:
            if at.name == "checkpoint" and _checkpoints:
                return rng.choice(_checkpoints)
            return rng.randbytes(rng.choice([0, 16, 16, 40]))
        return _text(at, rng)
    if at.cpp_type == FieldDescriptor.CPPTYPE_ENUM:
        assert at.enum_type is not None
        return int(rng.choice(at.enum_type.values).number)
    if at.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return rng.random() < 0.5
    if at.cpp_type in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        return rng.choice([0.0, 0.5, 1.0, 3.25])
    return _number(at, rng)


def _fill_field(
    to: Message, at: FieldDescriptor, rng: random.Random, depth: int
) -> None:
    count = rng.choice([1, 1, 2, 3]) if at.is_repeated else 1
    for _ in range(count):
        if at.message_type is None:
            value = _scalar(at, rng)
            if at.is_repeated:
                getattr(to, at.name).append(value)
            else:
                setattr(to, at.name, value)
        elif depth < _DEEPEST:
            held = getattr(to, at.name)
            part = held.add() if at.is_repeated else held
            part.SetInParent()
            part.CopyFrom(plausible(at.message_type, rng, depth + 1))


def _fields_of(kind: Descriptor, rng: random.Random) -> list[FieldDescriptor]:
    """Which to fill: of each choice one, of what may be left out about half."""
    chosen = {
        of.name: rng.choice(of.fields).name
        for of in kind.oneofs
        if not of.name.startswith("_")
    }
    fields = []
    for at in kind.fields:
        of = at.containing_oneof
        if of is not None and of.name in chosen:
            wanted = chosen[of.name] == at.name
        elif at.message_type is None and of is None and not at.is_repeated:
            wanted = rng.random() < 0.9
        else:
            wanted = at.name == "spec" or rng.random() < 0.5
        if wanted:
            fields.append(at)
    return fields


def plausible(kind: Descriptor, rng: random.Random, depth: int = 0) -> Message:
    """A message as a client might send it; many are accepted."""
    if kind.name in _WHOLE:
        return _WHOLE[kind.name](rng)
    to = GetMessageClass(kind)()
    if kind.GetOptions().map_entry:
        return to
    for at in _fields_of(kind, rng):
        if at.message_type is None or not at.message_type.GetOptions().map_entry:
            _fill_field(to, at, rng, depth)
    return to


def _ingest(rng: random.Random) -> list[Message]:
    opening = api.OpenIngest(job=rng.choice(JOBS), stream=rng.choice(job_specs.STREAMS))
    sent: list[Message] = [api.IngestRequest(open=opening)]
    first = 0
    for _ in range(rng.randrange(5)):
        count = rng.choice([1, 64, 500])
        batch = documents.batch_of(0, first, count)
        sent.append(api.IngestRequest(batch=batch))
        first += count
    return sent


def _follow(rng: random.Random) -> list[Message]:
    asked = plausible(api.Subscribe.DESCRIPTOR, rng)
    assert isinstance(asked, api.Subscribe)
    for at in ("last_digest", "epoch", "layout", "from_step"):
        if rng.random() < 0.8:
            asked.ClearField(at)
    sent: list[Message] = [api.StreamStepsRequest(subscribe=asked)]
    for step in range(rng.randrange(4)):
        mark = api.Durable(step=step) if rng.random() < 0.5 else None
        sent.append(
            api.StreamStepsRequest(durable=mark)
            if mark is not None
            else api.StreamStepsRequest(received=api.Received(step=step))
        )
    return sent


# Conversations that get somewhere, beside those that the descriptor alone gives.
_TALKS: dict[str, Callable[[random.Random], list[Message]]] = {
    "Ingest": _ingest,
    "StreamSteps": _follow,
}


def requests(method: Method, rng: random.Random) -> list[Message]:
    """What a client might send to it: one message, or some where it takes a stream."""
    talk = _TALKS.get(method.path.rsplit("/", 1)[1])
    if talk is not None and rng.random() < 0.7:
        return talk(rng)
    kind = cast(Descriptor, method.request.DESCRIPTOR)
    count = rng.choice([0, 1, 2, 5]) if method.is_stream else 1
    return [plausible(kind, rng) for _ in range(count)]
