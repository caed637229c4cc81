"""Tests of evenpack.corpora.arrow_columns."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from evenpack.corpora import ByteTokenizer, Fields, Tokenizer
from evenpack.corpora.arrow_columns import ArrowColumns, ArrowTable, ArrowType
from evenpack.errors import InvalidArgumentError

pyarrow = pytest.importorskip("pyarrow")

TOKENS = [[1, 2, 3], [4], [5, 6]]


def _reader(
    table: ArrowTable, fields: Fields, tokenizer: Tokenizer | None = None
) -> ArrowColumns:
    return ArrowColumns("table", table.schema, fields, tokenizer)


def _table(kind: ArrowType, values: list[Any], **more: list[Any]) -> ArrowTable:
    return pyarrow.table({"x": pyarrow.array(values, kind), **more})


@pytest.mark.parametrize("item", ["uint8", "uint16", "int32", "int64"])
@pytest.mark.parametrize("outer", ["list_", "large_list"])
def test_lists_of_any_integers_are_tokens(outer: str, item: str) -> None:
    kind = getattr(pyarrow, outer)(getattr(pyarrow, item)())
    table = _table(kind, TOKENS)
    reader = _reader(table, Fields(tokens="x"))
    columns = reader.columns(table, range(3))
    assert columns.lengths.tolist() == [3, 1, 2]
    assert columns.lengths.dtype == np.uint32
    assert [reader.tokens(table, i, i).tolist() for i in range(3)] == TOKENS
    assert reader.tokens(table, 0, 0).dtype == np.dtype(item)
    part = table.slice(1)
    assert reader.columns(part, range(1, 3)).lengths.tolist() == [1, 2]
    assert reader.tokens(part, 1, 2).tolist() == [5, 6]


def test_lists_of_one_size_are_tokens() -> None:
    table = _table(pyarrow.list_(pyarrow.int32(), 2), [[1, 2], [3, 4]])
    reader = _reader(table, Fields(tokens="x"))
    assert reader.columns(table, range(2)).lengths.tolist() == [2, 2]
    assert reader.tokens(table, 1, 1).tolist() == [3, 4]


@pytest.mark.parametrize("kind", ["string", "large_string"])
def test_texts_are_tokenized(kind: str) -> None:
    table = _table(getattr(pyarrow, kind)(), ["ab", "\u20ac"])
    reader = _reader(table, Fields(text="x"), tokenizer=ByteTokenizer(256))
    assert reader.columns(table, range(2)).lengths.tolist() == [3, 4]
    assert reader.tokens(table, 0, 0).tolist() == [97, 98, 256]
    plain = _reader(table, Fields(text="x"))
    assert plain.columns(table, range(2)).lengths.tolist() == [2, 3]


def test_all_columns_are_read() -> None:
    keys = pyarrow.array([(1 << 64) - 1, 0], pyarrow.uint64())
    table = _table(pyarrow.int16(), [5, 6], key=keys, loss=[5, 0], where=[1, 2])
    fields = Fields(length="x", id="key", loss_tokens="loss", source="where")
    reader = _reader(table, fields)
    columns = reader.columns(table, range(2))
    assert reader.needed == ["x", "key", "loss", "where"]
    assert columns.lengths.tolist() == [5, 6]
    assert columns.ids is not None
    assert columns.ids.tolist() == [(1 << 64) - 1, 0]
    assert columns.loss_tokens is not None
    assert columns.loss_tokens.tolist() == [5, 0]
    assert columns.sources is not None
    assert columns.sources.tolist() == [1, 2]


def test_tables_in_several_chunks_are_read() -> None:
    kind = pyarrow.list_(pyarrow.int32())
    table = pyarrow.concat_tables([_table(kind, TOKENS), _table(kind, TOKENS[1:])])
    reader = _reader(table, Fields(tokens="x"))
    assert reader.columns(table, range(5)).lengths.tolist() == [3, 1, 2, 1, 2]
    assert reader.tokens(table, 4, 4).tolist() == [5, 6]


def test_no_rows_come_to_no_documents() -> None:
    table = _table(pyarrow.list_(pyarrow.int32()), [])
    columns = _reader(table, Fields(tokens="x")).columns(table, range(0))
    assert columns.lengths.tolist() == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (Fields(tokens="y"), "table: column: 'y' is not accepted; accepted: x, n, t"),
        (
            Fields(tokens="t"),
            "table: column 't': type string is not accepted; accepted: lists of "
            "integers",
        ),
        (
            Fields(tokens="f"),
            "table: column 'f': type list<item: double> is not accepted; accepted: "
            "lists of integers",
        ),
        (
            Fields(text="n"),
            "table: column 'n': type int64 is not accepted; accepted: texts",
        ),
        (
            Fields(length="t"),
            "table: column 't': type string is not accepted; accepted: integers",
        ),
        (
            Fields(length="n", id="t"),
            "table: column 't': type string is not accepted; accepted: integers",
        ),
    ],
)
def test_a_column_that_does_not_fit_is_named(fields: Fields, message: str) -> None:
    kind = pyarrow.list_(pyarrow.int32())
    table = _table(kind, [[1]], n=[1], t=["a"], f=[[0.5]])
    with pytest.raises(InvalidArgumentError) as caught:
        _reader(table, fields)
    assert str(caught.value).startswith(message)


INTEGERS = [7, 7]


@pytest.mark.parametrize(
    ("fields", "columns", "message"),
    [
        (
            Fields(length="x"),
            {"x": [7, 0]},
            "column 'x': 0 is not accepted; accepted: 1 to 2147483647",
        ),
        (
            Fields(length="x"),
            {"x": [7, 1 << 31]},
            "column 'x': 2147483648 is not accepted; accepted: 1 to 2147483647",
        ),
        (
            Fields(length="x"),
            {"x": [7, None]},
            "column 'x': a missing value is not accepted; accepted: one in each row",
        ),
        (
            Fields(text="x"),
            {"x": ["a", ""]},
            "column 'x': 0 tokens is not accepted; accepted: 1 to 2147483647",
        ),
        (
            Fields(text="x"),
            {"x": ["a", None]},
            "column 'x': a missing value is not accepted; accepted: one in each row",
        ),
        (
            Fields(tokens="x"),
            {"x": [[1], []]},
            "column 'x': 0 tokens is not accepted; accepted: 1 to 2147483647",
        ),
        (
            Fields(tokens="x"),
            {"x": [[1], None]},
            "column 'x': a missing value is not accepted; accepted: one in each row",
        ),
        (
            Fields(length="x", loss_tokens="y"),
            {"x": INTEGERS, "y": [7, 8]},
            "column 'y': 8 is not accepted; accepted: 0 to 7, the tokens of the "
            "document",
        ),
        (
            Fields(length="x", source="y"),
            {"x": INTEGERS, "y": [0, -1]},
            "column 'y': -1 is not accepted; accepted: 0 to 4294967295",
        ),
        (
            Fields(length="x", id="y"),
            {"x": INTEGERS, "y": [0, -1]},
            "column 'y': -1 is not accepted; accepted: 0 to 18446744073709551615",
        ),
    ],
)
def test_a_bad_row_is_named(
    fields: Fields, columns: dict[str, list[Any]], message: str
) -> None:
    table = pyarrow.table(columns)
    reader = _reader(table, fields)
    with pytest.raises(InvalidArgumentError) as caught:
        reader.columns(table, range(40, 42))
    assert str(caught.value) == f"table: row 41: {message}"


def test_a_missing_token_is_refused() -> None:
    table = _table(pyarrow.list_(pyarrow.int32()), [[1, None]])
    with pytest.raises(InvalidArgumentError) as caught:
        _reader(table, Fields(tokens="x")).tokens(table, 0, 6)
    assert str(caught.value) == (
        "table: row 6: column 'x': a missing token is not accepted; accepted: lists of "
        "token ids, none missing"
    )


def test_a_row_without_tokens_is_refused() -> None:
    table = _table(pyarrow.list_(pyarrow.int32()), [None])
    with pytest.raises(
        InvalidArgumentError, match="row 6: column 'x': a missing value"
    ):
        _reader(table, Fields(tokens="x")).tokens(table, 0, 6)


def test_a_table_of_lengths_has_no_tokens() -> None:
    table = pyarrow.table({"n": [3]})
    with pytest.raises(InvalidArgumentError) as caught:
        _reader(table, Fields(length="n")).tokens(table, 0, 0)
    assert str(caught.value) == (
        "table: tokens: column 'n', a length, is not accepted; accepted: fields with a "
        "text or with tokens"
    )


def test_it_can_be_sent_to_another_process() -> None:
    table = _table(pyarrow.string(), ["ab"])
    reader = pickle.loads(pickle.dumps(_reader(table, Fields(text="x"))))
    assert reader.tokens(table, 0, 0).tolist() == [97, 98]
