"""The digests of docs/formats.md, computed from a received step alone."""

from __future__ import annotations

from collections.abc import Iterable

from evenpack.v1 import step_pb2

_MASK = (1 << 64) - 1
_KEY_LOW = 0x6A09E667F3BCC908
_KEY_HIGH = 0xB2FB1366EA957D3E


def _rounds(v: tuple[int, int, int, int], count: int) -> tuple[int, int, int, int]:
    v0, v1, v2, v3 = v
    for _ in range(count):
        v0 = (v0 + v1) & _MASK
        v1 = ((v1 << 13 | v1 >> 51) & _MASK) ^ v0
        v0 = (v0 << 32 | v0 >> 32) & _MASK
        v2 = (v2 + v3) & _MASK
        v3 = ((v3 << 16 | v3 >> 48) & _MASK) ^ v2
        v0 = (v0 + v3) & _MASK
        v3 = ((v3 << 21 | v3 >> 43) & _MASK) ^ v0
        v2 = (v2 + v1) & _MASK
        v1 = ((v1 << 17 | v1 >> 47) & _MASK) ^ v2
        v2 = (v2 << 32 | v2 >> 32) & _MASK
    return v0, v1, v2, v3


def digest_of(words: Iterable[int]) -> bytes:
    """SipHash-2-4-128 of 64-bit words under the project's key."""
    v = (
        _KEY_LOW ^ 0x736F6D6570736575,
        _KEY_HIGH ^ 0x646F72616E646F6D ^ 0xEE,
        _KEY_LOW ^ 0x6C7967656E657261,
        _KEY_HIGH ^ 0x7465646279746573,
    )
    count = 0

    def absorb(v: tuple[int, int, int, int], word: int) -> tuple[int, int, int, int]:
        v0, v1, v2, v3 = _rounds((v[0], v[1], v[2], v[3] ^ word), 2)
        return v0 ^ word, v1, v2, v3

    for word in words:
        v = absorb(v, word)
        count += 1
    v0, v1, v2, v3 = absorb(v, (count * 8 & 0xFF) << 56)
    v0, v1, v2, v3 = _rounds((v0, v1, v2 ^ 0xEE, v3), 4)
    low = v0 ^ v1 ^ v2 ^ v3
    v0, v1, v2, v3 = _rounds((v0, v1 ^ 0xDD, v2, v3), 4)
    high = v0 ^ v1 ^ v2 ^ v3
    return low.to_bytes(8, "little") + high.to_bytes(8, "little")


def _digest_words(digests: bytes) -> list[int]:
    return [
        int.from_bytes(digests[at : at + 8], "little")
        for at in range(0, len(digests), 8)
    ]


def _text_words(text: str) -> list[int]:
    raw = text.encode()
    padded = raw.ljust(-(-len(raw) // 8) * 8, b"\0")
    return [len(raw), *_digest_words(padded)]


GENESIS = digest_of(_text_words("evenpack.step.v1"))


def micro_batch_digest(micro_batch: step_pb2.MicroBatch) -> bytes:
    """What MicroBatch.digest must be."""
    documents = micro_batch.documents
    count = len(documents.sequence)
    streams = documents.stream or [0] * count
    offsets = documents.offset or [0] * count
    words = [count]
    for i in range(count):
        words += [
            streams[i] | documents.length[i] << 32,
            documents.sequence[i],
            offsets[i],
        ]
    return digest_of([*words, micro_batch.tokens, micro_batch.padding])


def step_digest(step: step_pb2.Step) -> bytes:
    """What Step.digest must be."""
    return digest_of(
        [
            *_digest_words(step.previous_digest),
            step.index,
            len(step.micro_batch_digests) // 16,
            *_digest_words(step.micro_batch_digests),
        ]
    )
