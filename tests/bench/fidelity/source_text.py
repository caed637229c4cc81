"""Real text that every machine with the test libraries has: that of these libraries.

Three kinds of documents, from the files under an environment's site-packages:

- docstrings: those of modules, classes and functions, each a document;
- code: functions and methods, each a document with those that it has within;
- prose: whole text files, that is descriptions, licences and notes of packages.

A file gives docstrings or code, never both, so that no text comes twice by that; what
is equal to a document before it is left out.
"""

from __future__ import annotations

import ast
import hashlib
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

KINDS = ("docstrings", "code", "prose")
PROSE_NAMES = ("*.md", "*.rst", "*.txt", "METADATA", "LICENSE*")
# Of 16 files, by the hash of their path, how many give docstrings, and how many code.
DOCSTRING_FILES, CODE_FILES = 6, 1
# Shorter ones say nothing that could be predicted.
SHORTEST_BYTES = 32


class Document(NamedTuple):
    """A document of the corpus.

    Attributes:
        kind: index in KINDS.
        digest: SHA-256 of the text, by which documents are put in order: the same
            wherever the file was found.
        text: at least SHORTEST_BYTES in UTF-8.
    """

    kind: int
    digest: bytes
    text: str


def kind_of_module(relative_path: str) -> int | None:
    """Which kind of documents a Python file gives; None: it gives none."""
    part = hashlib.sha256(relative_path.encode()).digest()[0] % 16
    if part < DOCSTRING_FILES:
        return KINDS.index("docstrings")
    if part < DOCSTRING_FILES + CODE_FILES:
        return KINDS.index("code")
    return None


def docstrings_of(source: str) -> Iterator[str]:
    """Of the module, its classes and its functions, wherever they stand."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ):
            found = ast.get_docstring(node)
            if found is not None:
                yield found


def functions_of(source: str) -> Iterator[str]:
    """Source of functions and methods, not of those within others; decorators left out.

    Lines are cut from the file by number, which is much faster than
    `ast.get_source_segment`.
    """
    lines = source.splitlines()
    open_bodies: list[list[ast.stmt]] = [ast.parse(source).body]
    while open_bodies:
        for node in open_bodies.pop():
            if isinstance(node, ast.ClassDef):
                open_bodies.append(node.body)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = lines[node.lineno - 1 : node.end_lineno]
                yield textwrap.dedent("\n".join(body))


def _texts_of(path: Path, kind: int) -> list[str]:
    try:
        source = path.read_text(encoding="utf-8")
        if KINDS[kind] == "prose":
            return [source]
        reader = docstrings_of if KINDS[kind] == "docstrings" else functions_of
        with warnings.catch_warnings():
            # Other projects' escape sequences are theirs.
            warnings.simplefilter("ignore")
            return list(reader(source))
    except (SyntaxError, UnicodeDecodeError, ValueError, RecursionError):
        return []  # a test's input rather than a program


def _files(folder: Path) -> Iterator[tuple[Path, int]]:
    for path in sorted(folder.rglob("*.py")):
        kind = kind_of_module(path.relative_to(folder).as_posix())
        if kind is not None:
            yield path, kind
    prose = KINDS.index("prose")
    for path in sorted({p for name in PROSE_NAMES for p in folder.rglob(name)}):
        if path.is_file():
            yield path, prose


def read_documents(folder: Path) -> list[Document]:
    """All documents of the files below a folder, no two alike, in the order of digests.

    Args:
        folder: an environment's site-packages.

    Raises:
        ValueError: there is no document.
    """
    found: dict[bytes, Document] = {}
    for path, kind in _files(folder):
        for text in _texts_of(path, kind):
            content = text.strip().encode()
            if len(content) >= SHORTEST_BYTES:
                digest = hashlib.sha256(content).digest()
                found.setdefault(digest, Document(kind, digest, content.decode()))
    if not found:
        raise ValueError(f"folder: {folder} has no documents; accepted: site-packages")
    return [found[digest] for digest in sorted(found)]
