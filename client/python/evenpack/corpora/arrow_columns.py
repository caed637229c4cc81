"""Documents from tables of Arrow, which Parquet and Hugging Face's datasets have."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenpack.corpora.corpus import MAX_LENGTH, Numbers, Tokens
from evenpack.corpora.fields import Fields
from evenpack.corpora.jsonl_document import MOST_NUMBER
from evenpack.corpora.optional_library import optional_library
from evenpack.corpora.tokenizer import Tokenizer, checked_tokenizer
from evenpack.document_columns import Columns
from evenpack.invalid_argument import check_class, invalid_argument, quoted

# A pyarrow.Schema, .Table, .ChunkedArray and .DataType: pyarrow has no type hints.
ArrowSchema = Any
ArrowTable = Any
ArrowColumn = Any
ArrowType = Any
# Numbers of the documents of a table's rows.
Rows = Numbers | range


def _compute() -> ModuleType:
    return optional_library("pyarrow.compute", "pyarrow", "corpus")


class ArrowColumns:
    """Reads documents off rows of tables of one schema. Threads may share one."""

    def __init__(
        self,
        name: str,
        schema: ArrowSchema,
        fields: Fields,
        tokenizer: Tokenizer | None,
    ) -> None:
        """Checks that the columns are there and have a fitting type.

        Args:
            name: of the table, for messages.
            schema: a pyarrow.Schema.
            fields: names of columns.
            tokenizer: of texts; None: bytes.

        Raises:
            InvalidArgumentError: naming the column; pyarrow is not installed.
        """
        check_class("fields", fields, Fields, "a Fields")
        self._name = name
        self._fields = fields
        self._tokenizer = checked_tokenizer(tokenizer)
        for column in fields.names():
            if column not in schema.names:
                accepted = ", ".join(schema.names)
                raise invalid_argument("column", quoted(column), accepted, name)
            self._check_type(column, schema.field(column).type)

    def _check_type(self, column: str, kind: ArrowType) -> None:
        types = optional_library("pyarrow.types", "pyarrow", "corpus")
        if column == self._fields.text:
            fits, accepted = (
                types.is_string(kind) or types.is_large_string(kind),
                "texts",
            )
        elif column == self._fields.tokens:
            lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
            fits = any(is_it(kind) for is_it in lists) and types.is_integer(
                kind.value_type
            )
            accepted = "lists of integers"
        else:
            fits, accepted = types.is_integer(kind), "integers"
        if not fits:
            raise invalid_argument(
                f"column '{column}'", f"type {kind}", accepted, self._name
            )

    @property
    def needed(self) -> list[str]:
        """The columns that a table must have."""
        return self._fields.names()

    def columns(self, table: ArrowTable, rows: Rows) -> Columns:
        """What is known of the documents of a table's rows.

        Args:
            table: a pyarrow.Table.
            rows: the documents' numbers, for messages.

        Raises:
            InvalidArgumentError: naming row, column and value.
        """
        lengths = self._lengths(table, rows)
        loss_tokens = self._numbers(table, self._fields.loss_tokens, 0, rows)
        if loss_tokens is not None:
            self._check_loss_tokens(loss_tokens, lengths, rows)
        ids = self._numbers(table, self._fields.id, 0, rows, (1 << 64) - 1)
        sources = self._numbers(table, self._fields.source, 0, rows, MOST_NUMBER)
        return Columns(
            lengths.astype(np.uint32),
            None if ids is None else ids.astype(np.uint64),
            None if loss_tokens is None else loss_tokens.astype(np.uint32),
            None if sources is None else sources.astype(np.uint32),
        )

    def tokens(self, table: ArrowTable, row: int, document: int) -> Tokens:
        """The tokens of a table's row, which is that document.

        Raises:
            InvalidArgumentError: the table has lengths alone, or the row has none.
        """
        name = self._fields.content
        if self._fields.length is not None:
            accepted = "fields with a text or with tokens"
            raise invalid_argument(
                "tokens", f"column '{name}', a length,", accepted, self._name
            )
        self._check_present(
            table.column(name).slice(row, 1), name, range(document, document + 1)
        )
        cell = table.column(name)[row]
        if self._fields.text is not None:
            return self._tokenizer.encode([cell.as_py()])[0]
        if cell.values.null_count > 0:
            accepted = "lists of token ids, none missing"
            raise self._refusal(name, document, "a missing token", accepted)
        found: Tokens = cell.values.to_numpy(zero_copy_only=False)
        return found

    def _refusal(self, name: str, row: int, value: object, accepted: str) -> Exception:
        place = f"{self._name}: row {row}"
        return invalid_argument(f"column '{name}'", value, accepted, place)

    def _check_present(self, column: ArrowColumn, name: str, rows: Rows) -> None:
        if column.null_count > 0:
            missing = _compute().is_null(column).to_numpy()
            row = int(rows[int(np.argmax(missing))])
            raise self._refusal(name, row, "a missing value", "one in each row")

    def _lengths(self, table: ArrowTable, rows: Rows) -> NDArray[np.integer[Any]]:
        name = self._fields.content
        if self._fields.length is not None:
            lengths = self._numbers(table, name, 1, rows)
            assert lengths is not None
            return lengths
        column = table.column(name)
        self._check_present(column, name, rows)
        if self._fields.text is not None:
            counts = self._tokenizer.count(column.to_pylist())
            found = np.array(counts, dtype=np.int64)
        else:
            found = _compute().list_value_length(column).to_numpy()
        self._check_range(found, name, rows, 1, MAX_LENGTH, "tokens")
        return found

    def _numbers(
        self,
        table: ArrowTable,
        name: str | None,
        least: int,
        rows: Rows,
        most: int = MAX_LENGTH,
    ) -> NDArray[np.integer[Any]] | None:
        if name is None:
            return None
        self._check_present(table.column(name), name, rows)
        found: NDArray[np.integer[Any]] = table.column(name).to_numpy()
        self._check_range(found, name, rows, least, most, "")
        return found

    def _check_range(
        self,
        numbers: NDArray[np.integer[Any]],
        name: str,
        rows: Rows,
        least: int,
        most: int,
        unit: str,
    ) -> None:
        wrong = (numbers < least) | (numbers > most)
        if wrong.any():
            i = int(np.argmax(wrong))
            value = f"{numbers[i]} {unit}".rstrip()
            raise self._refusal(name, int(rows[i]), value, f"{least} to {most}")

    def _check_loss_tokens(
        self,
        loss_tokens: NDArray[np.integer[Any]],
        lengths: NDArray[np.integer[Any]],
        rows: Rows,
    ) -> None:
        wrong = loss_tokens > lengths
        if wrong.any():
            i = int(np.argmax(wrong))
            accepted = f"0 to {lengths[i]}, the tokens of the document"
            name = str(self._fields.loss_tokens)
            raise self._refusal(name, int(rows[i]), loss_tokens[i], accepted)
