"""Messages of protobuf made wrong: as messages, field by field, and as bytes."""

from __future__ import annotations

import random
from collections.abc import Callable

from api_methods import fields_of
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: (-(1 << 31), (1 << 31) - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(1 << 63), (1 << 63) - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, (1 << 32) - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, (1 << 64) - 1),
    FieldDescriptor.CPPTYPE_ENUM: (-(1 << 31), (1 << 31) - 1),
}
_FLOATS = (float("nan"), float("inf"), -float("inf"), -1.0, 1e308, 5e-324, 1e19)
_TEXTS = (
    "",
    "a" * 257,
    "x" * 100_000,
    "\0",
    "../../../etc/passwd",
    "storm-0\n",
    "\N{RIGHT-TO-LEFT OVERRIDE}\N{FIRE}",
    "'; DROP TABLE jobs; --",
    "%s%n",
)
# Elements that a repeated field gets at most.
_MANY = 20_000


def _odd_scalar(at: FieldDescriptor, rng: random.Random) -> object:
    if at.cpp_type in _INTEGERS:
        least, most = _INTEGERS[at.cpp_type]
        near = rng.choice([0, 1, 2, 1 << 16, 1 << 31, (1 << 32) - 1])
        return rng.choice([least, most, most - 1, max(least, min(most, near))])
    if at.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return True
    if at.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        if at.type == FieldDescriptor.TYPE_BYTES:
            return rng.randbytes(rng.choice([0, 1, 15, 17, 1000]))
        return rng.choice(_TEXTS)
    return rng.choice(_FLOATS)


def _parts(message: Message) -> list[Message]:
    """The message and all that it holds."""
    found = [message]
    for at, value in message.ListFields():
        if at.message_type is None or at.message_type.GetOptions().map_entry:
            continue
        for part in list(value)[:8] if at.is_repeated else [value]:
            found += _parts(part)
    return found


def _change_repeated(to: Message, at: FieldDescriptor, rng: random.Random) -> None:
    held = getattr(to, at.name)
    choice = rng.randrange(3)
    if choice == 0 or at.message_type is not None:
        if len(held) > 0 and rng.random() < 0.5:
            del held[rng.randrange(len(held))]
        elif len(held) > 0 and at.message_type is not None:
            count = rng.choice([2, 1100]) if len(held) < 8 else 2
            held.extend([held[0]] * count)
        elif at.message_type is not None:
            held.add()
    elif choice == 1:
        held.extend([_odd_scalar(at, rng)] * rng.choice([1, 2, 3]))
    else:
        # A text of any length so often would be another test.
        value = "" if at.type == FieldDescriptor.TYPE_STRING else _odd_scalar(at, rng)
        held.extend([value] * rng.choice([100, _MANY]))


def change(message: Message, rng: random.Random) -> None:
    """Changes one field somewhere in it."""
    to = rng.choice(_parts(message))
    fields = [
        at
        for at in fields_of(to)
        if at.message_type is None or not at.message_type.GetOptions().map_entry
    ]
    if not fields:
        return
    at = rng.choice(fields)
    if rng.random() < 0.25:
        to.ClearField(at.name)
    elif at.is_repeated:
        _change_repeated(to, at, rng)
    elif at.message_type is not None:
        getattr(to, at.name).SetInParent()
    else:
        setattr(to, at.name, _odd_scalar(at, rng))


def _varint(value: int) -> bytes:
    out = []
    while value >= 128:
        out.append(value % 128 | 128)
        value //= 128
    return bytes([*out, value])


def _truncate(raw: bytes, rng: random.Random) -> bytes:
    return raw[: rng.randrange(len(raw) + 1)]


def _flip(raw: bytes, rng: random.Random) -> bytes:
    if not raw:
        return b"\xff"
    changed = bytearray(raw)
    for _ in range(rng.choice([1, 1, 4])):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _unknown_field(raw: bytes, rng: random.Random) -> bytes:
    number = rng.choice([19, 5000, (1 << 29) - 1])
    return raw + _varint(number << 3 | 2) + _varint(4) + b"more"


def _wrong_type(raw: bytes, rng: random.Random) -> bytes:
    """The first fields, each as a type that it isn't."""
    number = rng.randrange(1, 9)
    kind = rng.choice([0, 1, 2, 5])
    content = {0: b"\x01", 1: bytes(8), 2: b"\x03abc", 5: bytes(4)}[kind]
    return raw + _varint(number << 3 | kind) + content


def _nested(raw: bytes, rng: random.Random) -> bytes:
    depth = rng.choice([50, 101, 20_000])
    number = rng.randrange(1, 20)
    return raw + _varint(number << 3 | 3) * depth + _varint(number << 3 | 4) * depth


def _messages_in_messages(raw: bytes, rng: random.Random) -> bytes:
    inner = raw[:100]
    for _ in range(rng.choice([20, 200])):
        inner = _varint(rng.randrange(1, 4) << 3 | 2) + _varint(len(inner)) + inner
    return inner


def _bad_text(raw: bytes, rng: random.Random) -> bytes:
    number = rng.randrange(1, 4)
    return raw + _varint(number << 3 | 2) + b"\x02\xff\xfe"


def _endless(raw: bytes, rng: random.Random) -> bytes:
    """A field that says that it is longer than all, or a number without an end."""
    if rng.random() < 0.5:
        return raw + b"\x0a" + _varint(rng.choice([1 << 31, (1 << 64) - 1, 1 << 20]))
    return raw + b"\x08" + b"\x80" * 11


def _noise(raw: bytes, rng: random.Random) -> bytes:
    return rng.randbytes(min(len(raw), 4096) or 16)


_DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _truncate,
    _flip,
    _unknown_field,
    _wrong_type,
    _nested,
    _messages_in_messages,
    _bad_text,
    _endless,
    _noise,
)


def damaged(raw: bytes, rng: random.Random) -> bytes:
    """A message's bytes, mostly not those of a message any more."""
    return rng.choice(_DAMAGES)(raw, rng)
