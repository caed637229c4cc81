"""Documents as columns of numbers, and where the engine here takes them from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenpack.errors import InvalidArgumentError
from evenpack.invalid_argument import as_array, invalid_argument, quoted

Number = TypeVar("Number", bound=np.unsignedinteger[Any])
# Which of some documents: indices, or a range of them.
Where = NDArray[np.integer[Any]] | slice

_MOST_LENGTH = (1 << 32) - 1
_MOST_DIGITS = 100


def column(name: str, numbers: ArrayLike, kind: type[Number]) -> NDArray[Number]:
    """Numbers as the engine takes them.

    Raises:
        InvalidArgumentError: not one row of whole numbers within the type's range.
    """
    given = as_array(name, numbers, "one row of whole numbers")
    if given.size == 0:
        given = given.astype(kind)
    elif given.dtype == np.float64 and not isinstance(numbers, np.ndarray):
        # Where numpy has no type for whole numbers of both halves of 64 bits.
        exact = np.array(numbers, dtype=object)
        if all(isinstance(number, int) for number in exact.flat):
            given = exact
    limit = int(np.iinfo(kind).max)
    if given.ndim != 1 or given.dtype.kind not in "iuO":
        kind_given = f"{given.dtype} of shape {given.shape}"
        raise invalid_argument(name, kind_given, "one row of whole numbers")
    if given.dtype.kind == "O":
        _check_whole(name, given, limit)
    if not np.can_cast(given.dtype, kind):
        outside = (given < 0) | (given > limit)
        if outside.any():
            first = int(np.argmax(outside))
            raise invalid_argument(f"{name}[{first}]", given[first], f"0 to {limit}")
    return np.ascontiguousarray(given, dtype=kind)


def _check_whole(name: str, numbers: NDArray[np.object_], limit: int) -> None:
    """Refuses objects that are no whole numbers, of any size."""
    for i, number in enumerate(numbers):
        if not isinstance(number, int | np.integer):
            accepted = f"a whole number, 0 to {limit}"
            raise invalid_argument(f"{name}[{i}]", quoted(number), accepted)


@dataclass(frozen=True)
class Documents:
    """Documents of one stream; entry i of each column belongs to document i.

    Attributes:
        lengths: tokens of each.
        ids, loss_tokens, sources: as `Producer.add` has them.
    """

    lengths: ArrayLike
    ids: ArrayLike | None = None
    loss_tokens: ArrayLike | None = None
    sources: ArrayLike | None = None


@dataclass(frozen=True)
class Columns:
    """Some documents in a row, as the engine takes them."""

    lengths: NDArray[np.uint32]
    ids: NDArray[np.uint64] | None = None
    loss_tokens: NDArray[np.uint32] | None = None
    sources: NDArray[np.uint32] | None = None


def select(columns: Columns, where: Where) -> Columns:
    """What is known of some of the documents; views where a range is asked for."""
    return Columns(
        columns.lengths[where],
        None if columns.ids is None else columns.ids[where],
        None if columns.loss_tokens is None else columns.loss_tokens[where],
        None if columns.sources is None else columns.sources[where],
    )


def at_most(columns: Columns, size: int) -> Iterator[Columns]:
    """The same documents in parts, `size` of them at a time."""
    for begin in range(0, len(columns.lengths), size):
        yield select(columns, slice(begin, begin + size))


def _joined(parts: list[Columns]) -> Columns:
    """Parts as one; a column that only some have is for others what it is taken for."""
    if len(parts) == 1:
        return parts[0]
    columns = {}
    for name in [field.name for field in fields(Columns)]:
        if any(getattr(part, name) is not None for part in parts):
            columns[name] = np.concatenate([_column_of(part, name) for part in parts])
    return Columns(**columns)


def _column_of(columns: Columns, name: str) -> NDArray[np.unsignedinteger[Any]]:
    found: NDArray[np.unsignedinteger[Any]] | None = getattr(columns, name)
    if found is not None:
        return found
    if name == "loss_tokens":
        return columns.lengths
    if name == "sources":
        return np.zeros_like(columns.lengths)
    raise invalid_argument(name, "of some documents alone", "of all, or of none")


def in_parts(chunks: Iterable[Columns], size: int) -> Iterator[Columns]:
    """The same documents, `size` of them at a time, wherever chunks end.

    The last part may be smaller.

    Raises:
        InvalidArgumentError: only some chunks have ids, and a part would have both.
    """
    held: list[Columns] = []
    wanted = size
    for chunk in chunks:
        begin = 0
        while begin < len(chunk.lengths):
            held.append(select(chunk, slice(begin, begin + wanted)))
            begin += len(held[-1].lengths)
            wanted -= len(held[-1].lengths)
            if wanted == 0:
                yield _joined(held)
                held, wanted = [], size
    if held:
        yield _joined(held)


@runtime_checkable
class DocumentColumns(Protocol):
    """What gives its documents by number: `evenpack.corpora` has some."""

    def documents(self, first: int = 0) -> Iterator[Columns]:
        """Those from number `first` on, in chunks of any size."""
        ...


# Documents of one stream: a corpus; documents with their columns; lengths alone; a file
# with one length a line; or whatever can be iterated over from the beginning again and
# gives lengths.
StreamSource = DocumentColumns | Documents | ArrayLike | Path | Iterable[int]
# By stream; alone where the job has one stream.
DocumentSource = StreamSource | Mapping[str, StreamSource]


def _read_lengths(path: Path) -> NDArray[np.uint32]:
    try:
        text = path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise invalid_argument(
            "lengths", f"{path} ({error.strerror})", "a file with one length a line"
        ) from error
    lengths = []
    for number, line in enumerate(text.splitlines(), start=1):
        digits = line.strip()
        if not digits.isdecimal():
            raise invalid_argument(
                f"lengths: {path}: line {number}",
                quoted(line),
                "one whole number a line",
            )
        # Python itself refuses to read some thousands of digits.
        if len(digits) > _MOST_DIGITS or int(digits) > _MOST_LENGTH:
            raise invalid_argument(
                f"lengths: {path}: line {number}", quoted(line), f"0 to {_MOST_LENGTH}"
            )
        lengths.append(int(digits))
    return np.array(lengths, dtype=np.uint32)


def _too_few(documents: int, first: int) -> InvalidArgumentError:
    accepted = f"at least {first}, which the job has had"
    return invalid_argument("lengths", f"{documents} documents", accepted)


def _sliced(documents: Documents, first: int, size: int) -> Iterator[Columns]:
    lengths = column("lengths", documents.lengths, np.uint32)
    if first > len(lengths):
        raise _too_few(len(lengths), first)
    given = {
        "ids": (documents.ids, np.uint64),
        "loss_tokens": (documents.loss_tokens, np.uint32),
        "sources": (documents.sources, np.uint32),
    }
    more: dict[str, NDArray[Any]] = {}
    for name, (numbers, kind) in given.items():
        if numbers is None:
            continue
        more[name] = column(name, numbers, kind)
        if len(more[name]) != len(lengths):
            accepted = f"{len(lengths)}, one for each of lengths"
            raise invalid_argument(name, f"{len(more[name])} entries", accepted)
    yield from at_most(select(Columns(lengths, **more), slice(first, None)), size)


def documents_from(source: StreamSource, first: int, size: int) -> Iterator[Columns]:
    """The documents of a stream from number `first` on, `size` at a time.

    Whatever the source: where streams are merged as their documents arrive, the parts
    decide the steps, and a run that goes on from a checkpoint has the same.
    """
    if isinstance(source, DocumentColumns):
        return in_parts(source.documents(first), size)
    if isinstance(source, Documents):
        return _sliced(source, first, size)
    if isinstance(source, Path):
        return _sliced(Documents(_read_lengths(source)), first, size)
    if isinstance(source, np.ndarray | list | tuple):
        return _sliced(Documents(source), first, size)
    if not isinstance(source, Iterable):
        raise invalid_argument(
            "lengths",
            type(source).__name__,
            "Documents, an array, a Path, or what gives lengths when iterated over",
        )
    rest: Iterator[int] = iter(cast(Iterable[int], source))
    if rest is source:
        accepted = "what can be iterated over from the beginning again"
        raise invalid_argument("lengths", type(source).__name__, accepted)
    skipped = sum(1 for _ in islice(rest, first))
    if skipped < first:
        raise _too_few(skipped, first)
    return (
        Columns(column("lengths", part, np.uint32))
        for part in iter(lambda: list(islice(rest, size)), [])
    )
