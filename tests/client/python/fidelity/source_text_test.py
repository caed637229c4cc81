"""Tests of which documents files give."""

from __future__ import annotations

from pathlib import Path

import pytest
from source_text import (
    KINDS,
    docstrings_of,
    functions_of,
    kind_of_module,
    read_documents,
)

SOURCE = '''
"""Of the module, long enough to be one."""


class Shelf:
    """Of the class, long enough to be one."""

    @property
    def books(self):
        """Of the method, long enough to be one."""
        def within():
            return 1

        return within()


async def read():
    pass
'''


def test_docstrings_are_those_of_modules_classes_and_functions() -> None:
    found = [text.split(",")[0] for text in docstrings_of(SOURCE)]
    assert sorted(found) == ["Of the class", "Of the method", "Of the module"]


def test_functions_are_whole_and_begin_at_the_margin() -> None:
    found = list(functions_of(SOURCE))
    assert [text.splitlines()[0] for text in found] == [
        "async def read():",
        "def books(self):",
    ]
    assert found[1].endswith("    return within()")
    assert "    def within():" in found[1]


def _write(folder: Path, kind: str, text: str) -> Path:
    """A module whose name gives that kind of documents."""
    names = (f"{text[:3].strip() or 'm'}{i}.py" for i in range(1_000))
    name = next(n for n in names if kind_of_module(n) == KINDS.index(kind))
    (folder / name).write_text(text)
    return folder / name


def test_a_module_gives_docstrings_or_code(tmp_path: Path) -> None:
    _write(tmp_path, "docstrings", SOURCE)
    assert {KINDS[d.kind] for d in read_documents(tmp_path)} == {"docstrings"}
    _write(tmp_path, "code", "def first():\n    return 'another text altogether'\n")
    texts = {KINDS[d.kind]: d.text for d in read_documents(tmp_path)}
    assert texts["code"].startswith("def first")


def test_equal_documents_come_once_in_the_order_of_their_digests(
    tmp_path: Path,
) -> None:
    for name in ("a.txt", "b.md"):
        (tmp_path / name).write_text("The same words, in two files of a folder.\n")
    (tmp_path / "c.rst").write_text("Other words, which are in one file alone.")
    documents = read_documents(tmp_path)
    assert len(documents) == 2
    assert documents == sorted(documents, key=lambda document: document.digest)


def test_what_is_no_program_and_what_is_short_gives_nothing(tmp_path: Path) -> None:
    _write(tmp_path, "docstrings", "def (:")
    (tmp_path / "short.txt").write_text("too short")
    (tmp_path / "bytes.txt").write_bytes(b"\xff" * 100)
    with pytest.raises(ValueError, match=r"folder: .* has no documents"):
        read_documents(tmp_path)
