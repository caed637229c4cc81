"""Tests of evenpack.corpora.jsonl_document."""

from __future__ import annotations

import numpy as np
import pytest
from evenpack.corpora import Fields
from evenpack.corpora.jsonl_document import JsonlDocument, parse_document
from evenpack.errors import InvalidArgumentError


def _parse(line: bytes, fields: Fields) -> JsonlDocument:
    return parse_document(line, fields, "a.jsonl: line 7")


def test_a_line_says_what_its_fields_say() -> None:
    fields = Fields(text="t", id="i", loss_tokens="l", source="s")
    line = '{"s": 4294967295, "t": "\u00e4b", "i": 18446744073709551615, "l": 0}'
    found = _parse(line.encode(), fields)
    assert found == JsonlDocument("\u00e4b", (1 << 64) - 1, 0, (1 << 32) - 1)


def test_tokens_become_an_array() -> None:
    content = _parse(b'{"ids": [0, 2147483647]}', Fields(tokens="ids")).content
    assert isinstance(content, np.ndarray)
    assert content.dtype == np.uint32
    assert content.tolist() == [0, (1 << 31) - 1]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"n": 1, "id": 5}', 5),
        (b'{"n": 1, "id": "5"}', None),
        (b'{"n": 1, "id": -5}', None),
        (b'{"n": 1, "id": 1.0}', None),
        (b'{"n": 1, "id": true}', None),
        (b'{"n": 1, "id": 18446744073709551616}', None),
        (b'{"n": 1}', None),
    ],
)
def test_an_id_without_a_name_is_one_where_it_is_a_whole_number(
    line: bytes, expected: int | None
) -> None:
    found = _parse(line, Fields(length="n"))
    assert (found.id, found.loss_tokens, found.source) == (expected, None, None)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"5",
        b"[1]",
        b"{",
        b'{"n": 1} x',
        b'{"n": "\xff"}',
        b"[" * 100_000,
        b'{"n": 1, "score": NaN}',
        b'{"n": 1, "score": -Infinity}',
    ],
)
def test_what_is_no_object_is_refused(line: bytes) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        _parse(line, Fields(length="n"))
    assert str(caught.value).startswith("a.jsonl: line 7: line: b'")
    assert str(caught.value).endswith(" is not accepted; accepted: a JSON object")


TEXT = Fields(text="t")
TOKENS = Fields(tokens="t")
LENGTH = Fields(length="t")


@pytest.mark.parametrize(
    ("fields", "value", "message"),
    [
        (TEXT, "5", "5 is not accepted; accepted: a text"),
        (TEXT, "null", "None is not accepted; accepted: a text"),
        (
            TEXT,
            '"ab\\ud800"',
            "'\\ud800' is not accepted; accepted: a text of whole characters",
        ),
        (TOKENS, "5", "5 is not accepted; accepted: a list of whole numbers"),
        (TOKENS, "[1, 2.0]", "[1, 2.0] is not accepted; accepted: a list of whole"),
        (TOKENS, "[true]", "[True] is not accepted; accepted: a list of whole numbers"),
        (TOKENS, "[1, -1]", "-1 is not accepted; accepted: token ids from 0 to 214748"),
        (TOKENS, "[2147483648]", "2147483648 is not accepted; accepted: token ids"),
        (TOKENS, f"[{1 << 70}]", f"{1 << 70} is not accepted; accepted: token ids"),
        (LENGTH, "0", "0 is not accepted; accepted: a whole number from 1 to 21474836"),
        (LENGTH, "2147483648", "2147483648 is not accepted; accepted: a whole number"),
        (LENGTH, "1.0", "1.0 is not accepted; accepted: a whole number from 1 to"),
        (LENGTH, "true", "True is not accepted; accepted: a whole number from 1 to"),
        (LENGTH, '"1"', "'1' is not accepted; accepted: a whole number from 1 to"),
    ],
)
def test_a_field_that_does_not_fit_is_named(
    fields: Fields, value: str, message: str
) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        _parse(f'{{"t": {value}}}'.encode(), fields)
    expected = f"a.jsonl: line 7: field 't': {message}"
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize(
    ("fields", "missing", "accepted"),
    [
        (Fields(text="x"), "x", "a text"),
        (Fields(tokens="x"), "x", "a list of token ids"),
        (Fields(length="x"), "x", "a whole number from 1 to 2147483647"),
        (
            Fields(length="t", id="x"),
            "x",
            "a whole number from 0 to 18446744073709551615",
        ),
        (
            Fields(length="t", loss_tokens="x"),
            "x",
            "a whole number from 0 to 2147483647",
        ),
        (Fields(length="t", source="x"), "x", "a whole number from 0 to 4294967295"),
    ],
)
def test_a_named_field_must_be_there(
    fields: Fields, missing: str, accepted: str
) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        _parse(b'{"t": 5}', fields)
    assert str(caught.value) == (
        f"a.jsonl: line 7: field '{missing}': a line without it is not accepted; "
        f"accepted: {accepted}"
    )


@pytest.mark.parametrize(
    ("name", "value", "most"),
    [
        ("id", 1 << 64, (1 << 64) - 1),
        ("id", -1, (1 << 64) - 1),
        ("loss_tokens", 1 << 31, (1 << 31) - 1),
        ("source", 1 << 32, (1 << 32) - 1),
    ],
)
def test_a_number_outside_its_range_is_named(name: str, value: int, most: int) -> None:
    fields = Fields(length="n", **{name: "x"})
    with pytest.raises(InvalidArgumentError) as caught:
        _parse(f'{{"n": 1, "x": {value}}}'.encode(), fields)
    assert str(caught.value) == (
        f"a.jsonl: line 7: field 'x': {value} is not accepted; accepted: a whole "
        f"number from 0 to {most}"
    )
