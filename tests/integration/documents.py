"""Documents that are the same wherever they are made: a hash of stream and number."""

from __future__ import annotations

from evenpack.v1 import packing_service_pb2 as api

LONGEST = 1 << 12
# Takes ten bytes on the wire, as do the numbers after it.
WIDE_ID = 1 << 63
_MASK = (1 << 64) - 1


def _mixed(value: int) -> int:
    """SplitMix64 (Steele, Lea, Flood)."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def length_of(seed: int, sequence: int) -> int:
    """Tokens of one document, 1 to LONGEST; short ones are the most."""
    bits = _mixed(seed << 32 | sequence)
    return 1 + (bits >> 8) % (1 << (4 + bits % 9))


def batch_of(seed: int, first: int, count: int) -> api.DocumentBatch:
    """Documents `first` to `first + count - 1` of the stream made of a seed."""
    return api.DocumentBatch(
        first_sequence=first,
        length=[length_of(seed, first + i) for i in range(count)],
    )


def tokens_of(seed: int, documents: int) -> int:
    """Tokens of the stream's first documents."""
    return sum(length_of(seed, sequence) for sequence in range(documents))
