"""Tests of the words of an argument that is refused."""

from __future__ import annotations

import pytest
from evenpack.errors import InvalidArgumentError
from evenpack.invalid_argument import check_range, invalid_argument, quoted


def test_the_error_names_the_field_its_value_and_what_would_do() -> None:
    error = invalid_argument("cp_rank", 9, "0 to 3")
    assert isinstance(error, InvalidArgumentError)
    assert str(error) == "cp_rank: 9 is not accepted; accepted: 0 to 3"
    assert error.fields == [("cp_rank", "9 is not accepted; accepted: 0 to 3")]


def test_a_place_comes_first() -> None:
    error = invalid_argument("length", 0, "1 or more", "a.jsonl: line 3")
    assert str(error) == (
        "a.jsonl: line 3: length: 0 is not accepted; accepted: 1 or more"
    )
    assert error.fields == [("length", "0 is not accepted; accepted: 1 or more")]


@pytest.mark.parametrize("value", [1, 2, 3])
def test_what_is_within_a_range_is_accepted(value: int) -> None:
    check_range("n", value, 1, 3)


@pytest.mark.parametrize("value", [0, 4])
def test_what_is_outside_a_range_is_refused(value: int) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        check_range("n", value, 1, 3, "here")
    expected = f"here: n: {value} is not accepted; accepted: 1 to 3"
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\nb", "'a\\nb'"),
        (b"\xff", "b'\\xff'"),
        ("\u00e4", "'\\xe4'"),
        ("x" * 100, f"'{'x' * 59}..."),
        ([1, 2], "[1, 2]"),
    ],
)
def test_a_quoted_value_is_short_and_on_one_line(value: object, text: str) -> None:
    assert quoted(value) == text
