"""Corpora of the tests, and what they come to."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evenpack.corpora import Corpus
from evenpack.errors import InvalidArgumentError

COLUMNS = ("lengths", "ids", "loss_tokens", "sources")


def listed(corpus: Corpus, first: int = 0) -> dict[str, list[int]]:
    """The columns of a corpus from a document on; those that it hasn't are missing."""
    found: dict[str, list[int]] = {}
    for columns in corpus.documents(first):
        assert len(columns.lengths) > 0
        for name in COLUMNS:
            part = getattr(columns, name)
            if part is not None:
                found.setdefault(name, []).extend(part.tolist())
    return found


def lengths(corpus: Corpus, first: int = 0) -> list[int]:
    """Of all documents from one on."""
    return listed(corpus, first).get("lengths", [])


def numbers(values: Sequence[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Document numbers as `read` takes them."""
    return np.array(values, dtype=np.int64)


def random_documents(count: int, seed: int, least: int = 1) -> list[list[int]]:
    """Token ids of documents, none of them twice."""
    draw = np.random.default_rng(seed)
    sizes = draw.integers(least, 9, count).tolist()
    next_token = iter(range(sum(sizes)))
    return [[next(next_token) for _ in range(size)] for size in sizes]


def write_jsonl(path: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    """A line for each."""
    text = "".join(f"{json.dumps(record)}\n" for record in records)
    path.write_text(text, encoding="utf-8")
    return path


@dataclass
class RawDataset:
    """Files of an indexed dataset by their format, good or damaged.

    `documents` has the sequences of each document, and these their tokens.
    """

    documents: Sequence[Sequence[Sequence[int]]]
    code: int = 4
    kind: str = "<i4"
    modes: bytes = b""
    damage: dict[int, bytes] = field(default_factory=dict)

    def index(self) -> bytes:
        """The bytes of the .idx file."""
        sizes = [len(s) for document in self.documents for s in document]
        ends = np.cumsum([0, *(len(document) for document in self.documents)])
        width = np.dtype(self.kind).itemsize
        pointers = np.cumsum([0, *sizes])[:-1] * width
        content = bytearray(
            b"MMIDIDX\0\0"
            + struct.pack("<QBQQ", 1, self.code, len(sizes), len(ends))
            + np.array(sizes, dtype="<i4").tobytes()
            + pointers.astype("<i8").tobytes()
            + ends.astype("<i8").tobytes()
            + self.modes
        )
        for at, changed in self.damage.items():
            content[at : at + len(changed)] = changed
        return bytes(content)

    def write(self, prefix: Path) -> Path:
        """Both files; returns the prefix."""
        Path(f"{prefix}.idx").write_bytes(self.index())
        tokens = [t for document in self.documents for s in document for t in s]
        content = np.array(tokens, dtype=self.kind).tobytes()
        Path(f"{prefix}.bin").write_bytes(content)
        return prefix


def refusal(call: Callable[..., object], *arguments: Any, **keywords: Any) -> str:  # noqa: ANN401
    """What the InvalidArgumentError says that such a call ends in."""
    with pytest.raises(InvalidArgumentError) as caught:
        call(*arguments, **keywords)
    return caught.value.message
