"""Tests of evenpack.corpora.line_index."""

from __future__ import annotations

import mmap
import os
import random
from pathlib import Path

import numpy as np
import pytest
from evenpack.corpora.line_index import LineIndex
from evenpack.errors import InvalidArgumentError


def _lines(path: Path, saved: Path | None = None) -> list[bytes]:
    index = LineIndex(path, "lines", saved)
    return [index.line(i) for i in range(len(index))]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", []),
        (b" \r\n\n", []),
        (b"a", [b"a"]),
        (b"a\n", [b"a"]),
        (b"a\n\n \n", [b"a"]),
        (b"a\nb", [b"a", b"b"]),
        (b" a \r\nb\r\n", [b"a", b"b"]),
        (b"\na\n\nb\n", [b"", b"a", b"", b"b"]),
    ],
)
def test_lines_come_without_blanks_around_them(
    tmp_path: Path, content: bytes, lines: list[bytes]
) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    assert _lines(path) == lines


@pytest.mark.parametrize("block", [1, 2, 7, 64])
def test_lines_of_any_length_are_found_in_blocks_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr("evenpack.corpora.line_index._BLOCK", block)
    draw = random.Random(block)
    lines = [b"x" * draw.randrange(1, 20) for _ in range(100)]
    path = tmp_path / "a"
    path.write_bytes(b"\n".join(lines))
    assert _lines(path) == lines


def test_a_block_has_so_many_bytes_but_one_line_at_least(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345\n123\n1\n12345678901234567\n1\n")
    index = LineIndex(path, "lines")
    assert [index.end_of_block(0, size) for size in (0, 6, 9, 10, 12, 1000)] == [
        1,
        1,
        1,
        2,
        3,
        5,
    ]
    assert [index.end_of_block(3, size) for size in (1, 18, 20)] == [4, 4, 5]


def test_what_was_found_is_kept(tmp_path: Path) -> None:
    path, saved = tmp_path / "a", tmp_path / "a.lines"
    path.write_bytes(b"one\ntwo\n")
    assert _lines(path, saved) == [b"one", b"two"]
    stamp = path.stat()
    # Another file of the same size and time: only what was kept can tell its lines.
    path.write_bytes(b"a\nb\nc\nd\n")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert len(_lines(path, saved)) == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "a.lines"]


def test_what_was_found_in_a_file_as_it_was_is_found_anew(tmp_path: Path) -> None:
    path, saved = tmp_path / "a", tmp_path / "a.lines"
    path.write_bytes(b"one\ntwo\n")
    stamp = path.stat().st_mtime_ns
    _lines(path, saved)
    path.write_bytes(b"a\nb\nc\nd\n")
    os.utime(path, ns=(stamp, stamp + 1))
    assert _lines(path, saved) == [b"a", b"b", b"c", b"d"]
    path.write_bytes(b"a\nb\n")
    os.utime(path, ns=(stamp, stamp + 1))
    assert _lines(path, saved) == [b"a", b"b"]


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x93NUMPY\x01\x00"])
def test_a_kept_file_that_can_not_be_read_is_made_anew(
    tmp_path: Path, content: bytes
) -> None:
    path, saved = tmp_path / "a", tmp_path / "a.lines"
    path.write_bytes(b"one\ntwo\n")
    saved.write_bytes(content)
    assert _lines(path, saved) == [b"one", b"two"]
    assert np.load(saved)[2:].tolist() == [0, 4, 8]


def test_a_kept_file_of_another_kind_is_made_anew(tmp_path: Path) -> None:
    path, saved = tmp_path / "a", tmp_path / "a.lines"
    path.write_bytes(b"one\ntwo\n")
    for other in (np.zeros(9), np.zeros((3, 3), np.int64), np.zeros(2, np.int64)):
        with saved.open("wb") as file:
            np.save(file, other)
        assert _lines(path, saved) == [b"one", b"two"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        LineIndex(tmp_path / "none", "lines")
    assert str(caught.value) == (
        f"{tmp_path}/none: No such file or directory; accepted: lines"
    )


def test_lines_are_kept_with_the_time_of_the_file_that_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though another of the same size comes in its place meanwhile."""
    path, saved = tmp_path / "a", tmp_path / "a.lines"
    path.write_bytes(b"a\nbbb\n")
    mapped = mmap.mmap

    def replaced_meanwhile(descriptor: int, length: int, *, access: int) -> mmap.mmap:
        content = mapped(descriptor, length, access=access)
        other = tmp_path / "b"
        other.write_bytes(b"aaa\nb\n")
        os.utime(other, ns=(1, 1))
        other.replace(path)
        return content

    with monkeypatch.context() as patch:
        patch.setattr(mmap, "mmap", replaced_meanwhile)
        assert _lines(path, saved) == [b"a", b"bbb"]
    assert _lines(path, saved) == [b"aaa", b"b"]
