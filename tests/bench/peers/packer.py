"""What a packer is here, whoever made it, and the documents that all of them get."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

Value = TypeVar("Value")

# Positions of documents in the list that the packer was given.
MicroBatch = list[int]


@dataclass(frozen=True)
class Shape:
    """What a job asks of its micro-batches."""

    micro_batches: int  # a step, DP ranks together
    window: int  # nominal tokens of one
    max_length: int  # most tokens of one, at least the window

    @property
    def batch_tokens(self) -> int:
        """Tokens of a global batch."""
        return self.micro_batches * self.window


def unchanged(value: Value) -> Value:
    """What a packer needs that takes lists and gives lists."""
    return value


@dataclass(frozen=True)
class Packer:
    """Somebody's packer behind one call.

    `pack` gets the lengths of documents and returns micro-batches in the order in
    which steps take them, `shape.micro_batches` to a step. It gets one global batch a
    call or, with `whole_stream`, all documents at once, and then decides itself how
    many micro-batches there are. `pack` alone is timed: `prepare` makes its argument
    from the lengths, `read` a list of micro-batches from what it returns.
    """

    name: str
    optimises: str
    pack: Callable[[Any, Shape], Any]
    note: str = ""
    whole_stream: bool = False
    prepare: Callable[[Sequence[int]], Any] = unchanged
    read: Callable[[Any], list[MicroBatch]] = unchanged


def read_lengths(path: Path) -> list[int]:
    """Document lengths in tokens, one a line."""
    return [int(line) for line in path.read_text(encoding="utf-8").split()]


def global_batches(lengths: Sequence[int], shape: Shape) -> Iterator[list[int]]:
    """Documents in their order until they reach a global batch's tokens.

    The document that reaches them belongs to the batch; what is left at the end and
    doesn't reach them is not a batch.
    """
    batch: list[int] = []
    tokens = 0
    for length in lengths:
        batch.append(length)
        tokens += length
        if tokens >= shape.batch_tokens:
            yield batch
            batch, tokens = [], 0
