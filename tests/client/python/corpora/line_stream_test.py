"""Tests of evenpack.corpora.line_stream."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from evenpack.corpora.line_stream import LineStream
from evenpack.errors import InvalidArgumentError


@contextmanager
def _opened(path: Path, content: bytes) -> Iterator[int]:
    path.write_bytes(content)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _lines(path: Path, content: bytes, longest: int = 100) -> list[tuple[int, bytes]]:
    """Numbers and contents; checks where lines end."""
    with _opened(path, content) as descriptor:
        stream = LineStream(descriptor, "a word", longest)
        lines = [line for block in stream.blocks() for line in block]
    for line in lines:
        before = content[: line.end]
        assert before.count(b"\n") == line.number - (not before.endswith(b"\n"))
    return [(line.number, line.content) for line in lines]


@pytest.mark.parametrize("block", [1, 2, 3, 7, 1 << 20])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"\n", []),
        (b" \r\n\n  ", []),
        (b"one", [(1, b"one")]),
        (b"one\n", [(1, b"one")]),
        (b"one\r\n two \n\n\t\n", [(1, b"one"), (2, b"two")]),
        (b"one\n\xff\x00\ntwo", [(1, b"one"), (2, b"\xff\x00"), (3, b"two")]),
        (b"one\n\n \ntwo\n", [(1, b"one"), (2, b""), (4, b"two")]),
        (b"\none\n\ntwo", [(1, b""), (2, b"one"), (3, b""), (4, b"two")]),
    ],
)
def test_lines_come_without_blanks_and_with_their_number(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    block: int,
    content: bytes,
    expected: list[tuple[int, bytes]],
) -> None:
    monkeypatch.setattr("evenpack.corpora.line_stream._BLOCK", block)
    assert _lines(tmp_path / "a", content) == expected


@pytest.mark.parametrize("block", [1, 8, 1 << 20])
def test_a_line_that_is_too_long_is_refused_behind_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr("evenpack.corpora.line_stream._BLOCK", block)
    assert _lines(tmp_path / "a", b"12345\n1234\n", longest=5) == [
        (1, b"12345"),
        (2, b"1234"),
    ]
    for end in (b"", b"\n", b"\nnext\n"):
        found: list[bytes] = []
        with (
            _opened(tmp_path / "a", b"one\n123456" + end) as descriptor,
            pytest.raises(InvalidArgumentError) as caught,
        ):
            for lines in LineStream(descriptor, "a word", 5).blocks():
                found += [line.content for line in lines]
        assert found == [b"one"]
        assert str(caught.value) == (
            "line 2: line: b'123456' is not accepted; accepted: a word of at most 5 "
            "bytes"
        )


def test_a_line_of_many_blocks_is_one_line(tmp_path: Path) -> None:
    long = b"x" * ((5 << 20) + 3)
    found = _lines(tmp_path / "a", b"a\n" + long + b"\nb\n", longest=1 << 23)
    assert found == [(1, b"a"), (2, long), (3, b"b")]


def test_what_is_in_a_pipe_comes_before_the_rest_is_written() -> None:
    reader, writer = os.pipe()
    try:
        blocks = LineStream(reader, "a word").blocks()
        os.write(writer, b"one\ntwo\nthr")
        assert [line.content for line in next(blocks)] == [b"one", b"two"]
        os.write(writer, b"ee\n")
        assert [line.content for line in next(blocks)] == [b"three"]
        # One that is written while it is waited for, to a reader that doesn't block.
        os.set_blocking(reader, False)
        thread = threading.Thread(target=os.write, args=(writer, b"four\n"))
        thread.start()
        assert [line.content for line in next(blocks)] == [b"four"]
        thread.join()
        os.write(writer, b"last")
        os.close(writer)
        writer = -1
        assert [line.content for line in next(blocks)] == [b"last"]
        assert next(blocks, None) is None
    finally:
        os.close(reader)
        if writer >= 0:
            os.close(writer)


def test_what_can_not_be_read_is_refused(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(InvalidArgumentError) as caught:
            next(LineStream(descriptor, "a word").blocks())
    finally:
        os.close(descriptor)
    assert str(caught.value) == (
        "file: Is a directory is not accepted; accepted: a readable file with a word a "
        "line"
    )
