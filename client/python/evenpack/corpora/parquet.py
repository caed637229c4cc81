"""Corpora of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from evenpack.corpora.arrow_columns import ArrowColumns, ArrowTable
from evenpack.corpora.column_assembly import ColumnAssembly
from evenpack.corpora.corpus import (
    CHUNK_DOCUMENTS,
    Numbers,
    Tokens,
    check_numbers,
    checked_piece,
    read_until_error,
)
from evenpack.corpora.fields import Fields
from evenpack.corpora.optional_library import optional_library
from evenpack.corpora.tokenizer import Tokenizer
from evenpack.document_columns import Columns, select
from evenpack.invalid_argument import checked_integer, checked_path, invalid_argument

# A pyarrow.RecordBatch.
ArrowBatch = Any


class ParquetCorpus:
    """Documents of a Parquet file: document i is row i.

    In order, one chunk of a row group is in memory at a time. By number, the row group
    that was read last is kept, so documents in any order are slow: make such a corpus
    an indexed dataset first. Several files are a `Concatenation`. One thread at a time;
    it can be pickled and opens its file again.
    """

    def __init__(
        self, path: str | Path, fields: Fields, *, tokenizer: Tokenizer | None = None
    ) -> None:
        """Opens a file; rows are read when they are asked for.

        Args:
            path: of the file.
            fields: names of columns.
            tokenizer: of texts; None: one token for each byte of UTF-8.

        Raises:
            InvalidArgumentError: pyarrow is not installed, no such file, or a column is
                missing or of another type.
        """
        path = checked_path("path", path)
        arrow = optional_library("pyarrow", "pyarrow", "corpus")
        parquet = optional_library("pyarrow.parquet", "pyarrow", "corpus")
        self._arguments = (path, fields, tokenizer)
        try:
            self._file = parquet.ParquetFile(path, memory_map=True)
        except (OSError, arrow.ArrowInvalid) as error:
            accepted = "a Parquet file"
            raise invalid_argument("path", f"{path} ({error})", accepted) from error
        schema = self._file.schema_arrow
        self._reader = ArrowColumns(str(path), schema, fields, tokenizer)
        about = self._file.metadata
        rows = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
        # First row of each row group, then how many rows there are.
        self._starts = np.concatenate([[0], np.cumsum(rows, dtype=np.int64)])
        self._kept: tuple[int, Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """By its arguments."""
        return _open, self._arguments

    def __len__(self) -> int:
        """Rows."""
        return int(self._starts[-1])

    def documents(self, first: int = 0) -> Iterator[Columns]:
        """See `Corpus`."""
        first = checked_integer("first", first, 0, len(self))
        return self._chunks(first)

    def _chunks(self, first: int) -> Iterator[Columns]:
        if first == len(self):
            return
        group = self._group_of(first)
        row = int(self._starts[group])
        batches = self._file.iter_batches(
            batch_size=CHUNK_DOCUMENTS,
            row_groups=list(range(group, len(self._starts) - 1)),
            columns=self._reader.needed,
        )
        for batch in batches:
            skipped = max(first - row, 0)
            if skipped < len(batch):
                yield from self._rows(_as_table(batch), row, row + skipped)
            row += len(batch)

    def _rows(self, table: ArrowTable, start: int, first: int) -> Iterator[Columns]:
        """Rows from number `first` on of a table that begins at row `start`."""

        def read(begin: int, end: int) -> Columns:
            rows = range(begin, end)
            return self._reader.columns(table.slice(begin - start, len(rows)), rows)

        return read_until_error(read, first, start + len(table))

    def read(self, numbers: Numbers) -> Columns:
        """See `RandomAccessCorpus`; each row group is read once."""
        check_numbers(numbers, len(self))
        groups = np.searchsorted(self._starts, numbers, side="right") - 1
        assembly = ColumnAssembly(numbers)
        for group in np.unique(groups).tolist():
            where = np.flatnonzero(groups == group)
            start = int(self._starts[group])
            table = self._row_group(group)
            columns = self._reader.columns(table, range(start, start + len(table)))
            assembly.put(where, select(columns, numbers[where] - start))
        return assembly.columns()

    def tokens(self, document: int, begin: int = 0, end: int | None = None) -> Tokens:
        """See `TokenCorpus`."""
        document = checked_integer("document", document, 0, len(self) - 1)
        group = self._group_of(document)
        row = document - int(self._starts[group])
        found = self._reader.tokens(self._row_group(group), row, document)
        begin, last = checked_piece(document, begin, end, len(found))
        return found[begin:last]

    def _group_of(self, document: int) -> int:
        return int(np.searchsorted(self._starts, document, side="right")) - 1

    def _row_group(self, group: int) -> ArrowTable:
        if self._kept is None or self._kept[0] != group:
            table = self._file.read_row_group(group, columns=self._reader.needed)
            self._kept = (group, table)
        return self._kept[1]


def _open(
    path: str | Path, fields: Fields, tokenizer: Tokenizer | None
) -> ParquetCorpus:
    return ParquetCorpus(path, fields, tokenizer=tokenizer)


def _as_table(batch: ArrowBatch) -> ArrowTable:
    arrow = optional_library("pyarrow", "pyarrow", "corpus")
    return arrow.Table.from_batches([batch])
