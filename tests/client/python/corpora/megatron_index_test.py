"""Tests of evenpack.corpora.megatron_index."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import numpy as np
import pytest
from evenpack.corpora.megatron_index import blocks, index_path, read_index
from evenpack.errors import InvalidArgumentError
from example_corpora import RawDataset

# Where the parts of an index of five sequences and four document indices are.
SIZES, POINTERS, ENDS, END = 34, 54, 94, 126
DOCUMENTS = [[[1] * 5, [2] * 6], [], [[3] * 7, [], [4] * 9]]


def _write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_a_document_has_the_tokens_of_its_sequences(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.idx", RawDataset(DOCUMENTS).index())
    index = read_index(path)
    assert path.stat().st_size == END
    assert index.lengths.tolist() == [11, 0, 16]
    assert index.sizes.tolist() == [5, 6, 7, 0, 9]
    assert index.pointers.tolist() == [0, 20, 44, 72, 72]
    assert index.ends.tolist() == [0, 2, 2, 5]
    assert index.token_type == np.dtype("<i4")


def test_modes_of_sequences_are_left_alone(tmp_path: Path) -> None:
    content = RawDataset(DOCUMENTS, modes=b"\1" * 5).index()
    assert read_index(_write(tmp_path / "a.idx", content)).lengths.tolist() == [
        11,
        0,
        16,
    ]


def test_an_index_may_have_no_documents(tmp_path: Path) -> None:
    index = read_index(_write(tmp_path / "a.idx", RawDataset([]).index()))
    assert index.lengths.tolist() == []


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (1, "uint8"),
        (2, "int8"),
        (3, "int16"),
        (4, "int32"),
        (5, "int64"),
        (8, "uint16"),
    ],
)
def test_every_type_of_integers_is_accepted(
    tmp_path: Path, code: int, name: str
) -> None:
    path = _write(tmp_path / "a.idx", RawDataset([[[1]]], code=code).index())
    assert read_index(path).token_type.name == name


@pytest.mark.parametrize("most", [1, 3, 40])
def test_random_documents_come_back(tmp_path: Path, most: int) -> None:
    draw = random.Random(most)
    documents = [
        [[0] * draw.randrange(9) for _ in range(draw.randrange(most + 1))]
        for _ in range(500)
    ]
    index = read_index(_write(tmp_path / "a.idx", RawDataset(documents).index()))
    expected = [sum(len(s) for s in document) for document in documents]
    assert index.lengths.tolist() == expected


def test_checks_look_at_all_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenpack.corpora.megatron_index._BLOCK", 2)
    assert list(blocks(5)) == [(0, 2), (2, 4), (4, 5)]
    documents = [[[0] * (i % 3)] * (i % 4) for i in range(50)]
    raw = RawDataset(documents)
    index = read_index(_write(tmp_path / "a.idx", raw.index()))
    expected = [sum(len(s) for s in document) for document in documents]
    assert index.lengths.tolist() == expected
    last = SIZES + 4 * (len(index.sizes) - 1)
    raw.damage[last] = struct.pack("<i", -3)
    with pytest.raises(InvalidArgumentError, match=f"at byte {last}: -3 is not"):
        read_index(_write(tmp_path / "b.idx", raw.index()))


def _damaged(at: int, kind: str, value: int | bytes) -> tuple[int, bytes]:
    return at, value if isinstance(value, bytes) else struct.pack(kind, value)


@pytest.mark.parametrize(
    ("at", "kind", "value", "message"),
    [
        (
            0,
            "",
            b"X",
            "magic at byte 0: b'XMIDIDX\\x00\\x00' is not accepted; accepted: "
            "b'MMIDIDX\\x00\\x00'",
        ),
        (8, "", b"!", "magic at byte 0: b'MMIDIDX\\x00!' is not accepted"),
        (9, "<Q", 2, "version at byte 9: 2 is not accepted; accepted: 1"),
        (9, "<Q", 1 << 56, "version at byte 9: 72057594037927936 is not accepted"),
        (
            17,
            "B",
            0,
            "type of a token at byte 17: 0 is not accepted; accepted: 1 to 5 or 8, "
            "which are types of integers",
        ),
        (17, "B", 6, "type of a token at byte 17: 6 is not accepted"),
        (17, "B", 7, "type of a token at byte 17: 7 is not accepted"),
        (17, "B", 9, "type of a token at byte 17: 9 is not accepted"),
        (
            18,
            "<Q",
            8,
            "count of sequences at byte 18: 8 is not accepted; accepted: 0 to 7, for "
            "which 126 bytes have room",
        ),
        (
            18,
            "<Q",
            (1 << 64) - 1,
            "count of sequences at byte 18: 18446744073709551615 is not",
        ),
        (
            18,
            "<Q",
            4,
            "size in bytes: 126 is not accepted; accepted: 114 for 4 sequences and 4 "
            "document indices, or 118 with modes",
        ),
        (
            18,
            "<Q",
            7,
            "count of document indices at byte 26: 4 is not accepted; accepted: 2 or ",
        ),
        (
            26,
            "<Q",
            0,
            "count of document indices at byte 26: 0 is not accepted; accepted: 2 to "
            "4, for which 126 bytes have room",
        ),
        (26, "<Q", 1, "count of document indices at byte 26: 1 is not accepted"),
        (26, "<Q", 5, "count of document indices at byte 26: 5 is not accepted"),
        (
            26,
            "<Q",
            3,
            "size in bytes: 126 is not accepted; accepted: 118 for 5 sequences and 3 "
            "document indices, or 123 with modes",
        ),
        (
            SIZES,
            "<i",
            -1,
            "tokens of sequence 0 at byte 34: -1 is not accepted; accepted: 0 to "
            "2147483647",
        ),
        (SIZES + 16, "<I", 1 << 31, "tokens of sequence 4 at byte 50: -2147483648 is"),
        (
            SIZES,
            "<i",
            (1 << 31) - 1,
            "document 0: tokens of its sequences: 2147483653 is not accepted; "
            "accepted: 0 to 2147483647",
        ),
        (
            POINTERS + 8,
            "<q",
            -8,
            "pointer of sequence 1 at byte 62: -8 is not accepted; accepted: 0 to "
            "9223372036854775807",
        ),
        (
            ENDS,
            "<q",
            1,
            "document index 0 at byte 94: 1 is not accepted; accepted: 0",
        ),
        (ENDS, "<q", -1, "document index 0 at byte 94: -1 is not accepted"),
        (
            ENDS + 8,
            "<q",
            6,
            "document index 1 at byte 102: 6 is not accepted; accepted: 0 to 5: they "
            "rise to the count of sequences",
        ),
        (
            ENDS + 16,
            "<q",
            1,
            "document index 2 at byte 110: 1 is not accepted; accepted: 2 to 5: they "
            "rise to the count of sequences",
        ),
        (ENDS + 16, "<q", -1, "document index 2 at byte 110: -1 is not accepted"),
        (
            ENDS + 24,
            "<q",
            4,
            "document index 3 at byte 118: 4 is not accepted; accepted: 5, the count "
            "of sequences",
        ),
        (ENDS + 24, "<q", 1, "document index 3 at byte 118: 1 is not accepted"),
        (ENDS + 24, "<q", 6, "document index 3 at byte 118: 6 is not accepted"),
    ],
)
def test_damage_is_refused_by_field_place_and_value(
    tmp_path: Path, at: int, kind: str, value: int | bytes, message: str
) -> None:
    raw = RawDataset(DOCUMENTS, damage=dict([_damaged(at, kind, value)]))
    path = _write(tmp_path / "a.idx", raw.index())
    with pytest.raises(InvalidArgumentError) as caught:
        read_index(path)
    assert str(caught.value).startswith(f"{path}: {message}")


@pytest.mark.parametrize("modes", [b"", b"\0" * 5])
def test_an_index_is_one_at_its_full_length_alone(tmp_path: Path, modes: bytes) -> None:
    content = RawDataset(DOCUMENTS, modes=modes).index() + b"\0" * 8
    for size in range(len(content) + 1):
        path = _write(tmp_path / "a.idx", content[:size])
        if size in (END, END + 5):
            assert read_index(path).lengths.tolist() == [11, 0, 16]
            continue
        with pytest.raises(InvalidArgumentError) as caught:
            read_index(path)
        assert str(path) in str(caught.value)
        assert " is not accepted; accepted: " in str(caught.value)


def test_any_damaged_byte_is_refused_or_harmless(tmp_path: Path) -> None:
    content = RawDataset(DOCUMENTS).index()
    draw = random.Random(3)
    refused = 0
    for at in range(len(content)):
        changed = bytearray(content)
        changed[at] ^= draw.randrange(1, 256)
        path = _write(tmp_path / "a.idx", bytes(changed))
        try:
            assert len(read_index(path).lengths) == 3
        except InvalidArgumentError:
            refused += 1
    assert 60 < refused < len(content)


def test_a_missing_index_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        read_index(tmp_path / "a.idx")
    assert str(caught.value) == (
        f"{tmp_path}/a.idx: No such file or directory; accepted: a Megatron-Core "
        "index, named with or without .idx"
    )


@pytest.mark.parametrize(
    ("prefix", "path"),
    [("a", "a.idx"), ("a.idx", "a.idx"), ("d/a.v1", "d/a.v1.idx"), (".idx", ".idx")],
)
def test_a_prefix_may_have_the_ending(prefix: str, path: str) -> None:
    assert index_path(prefix) == Path(path)
