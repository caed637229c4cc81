"""Tests of evenpack.corpora.mapped_file."""

from __future__ import annotations

from pathlib import Path

import pytest
from evenpack.corpora.mapped_file import map_file
from evenpack.errors import InvalidArgumentError


@pytest.mark.parametrize("content", [b"", b"abc"])
def test_a_file_has_its_bytes(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    mapped = map_file(path, "a file")
    assert mapped[:] == content
    assert len(mapped) == len(content)


def test_a_missing_file_is_named_with_what_it_should_be(tmp_path: Path) -> None:
    path = tmp_path / "none"
    with pytest.raises(InvalidArgumentError) as caught:
        map_file(path, "a corpus")
    assert str(caught.value) == (
        f"{path}: No such file or directory; accepted: a corpus"
    )


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="Is a directory; accepted: a file"):
        map_file(tmp_path, "a file")
