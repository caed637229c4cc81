r"""The index of an indexed dataset of Megatron-Core: lengths and places.

All numbers are little-endian:

    at                  bytes  what
    0                   9      "MMIDIDX\0\0"
    9                   8      version: 1
    17                  1      type of a token in the .bin file
    18                  8      S, the count of sequences
    26                  8      D, the count of document indices
    34                  4 S    tokens of each sequence
    34 + 4 S            8 S    where each begins in the .bin file, in bytes
    34 + 12 S           8 D    document indices: 0, then how many sequences there are up
                               to the end of each document; the last is S
    34 + 12 S + 8 D     S      a mode of each sequence; may be missing, not read

Source: megatron/core/datasets/indexed_dataset.py of megatron-core 0.16.1.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenpack.corpora.corpus import MAX_LENGTH
from evenpack.corpora.mapped_file import MappedBytes, map_file
from evenpack.errors import InvalidArgumentError
from evenpack.invalid_argument import checked_path, invalid_argument, quoted

MAGIC = b"MMIDIDX\0\0"
VERSION = 1
HEADER = struct.Struct("<9sQBQQ")
_VERSION_AT, _TYPE_AT, _SEQUENCES_AT, _INDICES_AT = 9, 17, 18, 26
_BYTES_PER_SEQUENCE = 12
_BYTES_PER_INDEX = 8

# Types of tokens by their code; 6 and 7 are floating point, which no token is.
TOKEN_TYPES: dict[int, np.dtype[np.integer[Any]]] = {
    1: np.dtype("u1"),
    2: np.dtype("i1"),
    3: np.dtype("<i2"),
    4: np.dtype("<i4"),
    5: np.dtype("<i8"),
    8: np.dtype("<u2"),
}

# Entries that are checked at a time: an index may be larger than memory.
_BLOCK = 1 << 20


def blocks(entries: int) -> Iterator[tuple[int, int]]:
    """(begin, end) of parts that a check looks at together."""
    for begin in range(0, entries, _BLOCK):
        yield begin, min(begin + _BLOCK, entries)


@dataclass(frozen=True)
class MegatronIndex:
    """An index, checked, as views of the file.

    Attributes:
        path: of the file.
        token_type: of the tokens in the .bin file.
        sizes: int32 [S], tokens of each sequence, 0 or more.
        pointers: int64 [S], where each begins in the .bin file.
        ends: int64 [D], document indices; document i has the sequences from ends[i] to
            ends[i + 1] - 1.
        lengths: uint32 [D - 1], tokens of each document.
    """

    path: Path
    token_type: np.dtype[np.integer[Any]]
    sizes: NDArray[np.int32]
    pointers: NDArray[np.int64]
    ends: NDArray[np.int64]
    lengths: NDArray[np.uint32]


def index_path(prefix: str | Path) -> Path:
    """PREFIX.idx, or the prefix itself where it ends so."""
    name = checked_path("prefix", prefix)
    return Path(name if name.endswith(".idx") else f"{name}.idx")


def read_index(path: Path) -> MegatronIndex:
    """Opens an index and checks all of it.

    Raises:
        InvalidArgumentError: naming file, field, byte, value and what is accepted: no
            such file, no such index, not the bytes that its counts ask for, negative
            sizes or pointers, document indices that don't rise to S, a document of more
            than 2^31 - 1 tokens.
    """
    content = map_file(path, "a Megatron-Core index, named with or without .idx")
    token_type, sequences, indices = _read_header(path, content)
    at = HEADER.size
    sizes = np.frombuffer(content, "<i4", sequences, at)
    at += 4 * sequences
    pointers = np.frombuffer(content, "<i8", sequences, at)
    _check_not_negative(path, "tokens of sequence", sizes, HEADER.size, MAX_LENGTH)
    _check_not_negative(path, "pointer of sequence", pointers, at, (1 << 63) - 1)
    at += 8 * sequences
    ends = np.frombuffer(content, "<i8", indices, at)
    _check_ends(path, ends, sequences, at)
    if _is_count(ends):
        # One sequence each, the usual case: nothing to hold in memory.
        lengths = np.frombuffer(content, "<u4", sequences, HEADER.size)
    else:
        lengths = _document_lengths(path, sizes, ends)
    return MegatronIndex(path, token_type, sizes, pointers, ends, lengths)


def _refuse_at(
    path: Path, field: str, at: int, value: object, accepted: str
) -> InvalidArgumentError:
    return invalid_argument(f"{field} at byte {at}", value, accepted, str(path))


def _read_header(
    path: Path, content: MappedBytes
) -> tuple[np.dtype[np.integer[Any]], int, int]:
    """Type of tokens, S and D."""
    magic = bytes(content[: len(MAGIC)])
    if not MAGIC.startswith(magic):
        raise _refuse_at(path, "magic", 0, quoted(magic), quoted(MAGIC))
    if len(content) < HEADER.size:
        accepted = f"at least {HEADER.size}, the header of a Megatron-Core index"
        raise invalid_argument("size in bytes", len(content), accepted, str(path))
    _, version, code, sequences, indices = HEADER.unpack(content[: HEADER.size])
    if version != VERSION:
        raise _refuse_at(path, "version", _VERSION_AT, version, str(VERSION))
    if code not in TOKEN_TYPES:
        accepted = "1 to 5 or 8, which are types of integers"
        raise _refuse_at(path, "type of a token", _TYPE_AT, code, accepted)
    _check_size(path, len(content), sequences, indices)
    return TOKEN_TYPES[code], sequences, indices


def _check_size(path: Path, size: int, sequences: int, indices: int) -> None:
    """That the file has the bytes that its counts ask for, and no others."""
    room = f", for which {size} bytes have room"
    most_sequences = (size - HEADER.size) // _BYTES_PER_SEQUENCE
    if sequences > most_sequences:
        accepted = f"0 to {most_sequences}{room}"
        field = "count of sequences"
        raise _refuse_at(path, field, _SEQUENCES_AT, sequences, accepted)
    behind = size - HEADER.size - sequences * _BYTES_PER_SEQUENCE
    most_indices = behind // _BYTES_PER_INDEX
    # The first is 0 and the last the count of sequences.
    least_indices = 2 if sequences > 0 else 1
    if not least_indices <= indices <= most_indices:
        accepted = f"{least_indices} to {most_indices}{room}"
        if most_indices < least_indices:
            accepted = f"{least_indices} or more, in a longer file"
        field = "count of document indices"
        raise _refuse_at(path, field, _INDICES_AT, indices, accepted)
    modes = behind - indices * _BYTES_PER_INDEX
    if modes not in (0, sequences):
        plain = size - modes
        accepted = (
            f"{plain} for {sequences} sequences and {indices} document indices, or "
            f"{plain + sequences} with modes"
        )
        raise invalid_argument("size in bytes", size, accepted, str(path))


def _check_not_negative(
    path: Path, field: str, column: NDArray[np.signedinteger[Any]], at: int, most: int
) -> None:
    for begin, end in blocks(len(column)):
        negative = column[begin:end] < 0
        if negative.any():
            i = begin + int(np.argmax(negative))
            place = at + i * column.itemsize
            raise _refuse_at(
                path, f"{field} {i}", place, int(column[i]), f"0 to {most}"
            )


def _check_ends(path: Path, ends: NDArray[np.int64], sequences: int, at: int) -> None:
    """That document indices rise from 0 to S."""

    def refuse(i: int, accepted: str) -> InvalidArgumentError:
        place = at + i * _BYTES_PER_INDEX
        return _refuse_at(path, f"document index {i}", place, int(ends[i]), accepted)

    if ends[0] != 0:
        raise refuse(0, "0")
    last = len(ends) - 1
    for begin, end in blocks(last):
        before, after = ends[begin:end], ends[begin + 1 : end + 1]
        wrong = (after < before) | (after > sequences)
        if wrong.any():
            i = begin + 1 + int(np.argmax(wrong))
            if i != last:
                rise = (
                    f"{ends[i - 1]} to {sequences}: they rise to the count of sequences"
                )
                raise refuse(i, rise)
            break
    if ends[last] != sequences:
        raise refuse(last, f"{sequences}, the count of sequences")


def _is_count(ends: NDArray[np.int64]) -> bool:
    """Whether document i is sequence i."""
    return all(
        bool((ends[begin:end] == np.arange(begin, end)).all())
        for begin, end in blocks(len(ends))
    )


def _document_lengths(
    path: Path, sizes: NDArray[np.int32], ends: NDArray[np.int64]
) -> NDArray[np.uint32]:
    lengths = np.empty(len(ends) - 1, dtype=np.uint32)
    for begin, end in blocks(len(lengths)):
        bounds = ends[begin : end + 1]
        first = int(bounds[0])
        before = np.zeros(int(bounds[-1]) - first + 1, dtype=np.int64)
        np.cumsum(sizes[first : int(bounds[-1])], out=before[1:])
        tokens = np.diff(before[bounds - first])
        too_long = tokens > MAX_LENGTH
        if too_long.any():
            i = int(np.argmax(too_long))
            field = f"document {begin + i}: tokens of its sequences"
            raise invalid_argument(
                field, int(tokens[i]), f"0 to {MAX_LENGTH}", str(path)
            )
        lengths[begin:end] = tokens
    return lengths
