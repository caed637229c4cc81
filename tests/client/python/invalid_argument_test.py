"""Tests of the words of an argument that is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from evenpack.errors import InvalidArgumentError
from evenpack.invalid_argument import (
    check_range,
    check_seconds,
    checked_index,
    checked_integer,
    invalid_argument,
    quoted,
)


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


@pytest.mark.parametrize("value", [3, np.uint8(3), np.int64(3)])
def test_any_kind_of_integer_becomes_pythons_own(value: object) -> None:
    number = checked_integer("n", value)
    assert number == 3
    assert type(number) is int


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (-1, "n: -1 is not accepted; accepted: 0 to 7"),
        (8, "n: 8 is not accepted; accepted: 0 to 7"),
        (np.int64(-1), "n: -1 is not accepted; accepted: 0 to 7"),
        (1.0, "n: 1.0 is not accepted; accepted: an integer, 0 to 7"),
        ("1", "n: '1' is not accepted; accepted: an integer, 0 to 7"),
        (None, "n: None is not accepted; accepted: an integer, 0 to 7"),
    ],
)
def test_what_is_no_such_integer_is_refused(value: object, named: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        checked_integer("n", value, 0, 7)
    assert str(caught.value) == named


def test_an_index_may_be_left_out() -> None:
    assert checked_index("step", None) is None
    assert checked_index("step", np.int32(4)) == 4
    with pytest.raises(InvalidArgumentError, match=r"step: -4 .*: 0 to 18446744073709"):
        checked_index("step", -4)


@pytest.mark.parametrize("value", [1, 2.5, np.float32(2.5), 10])
def test_seconds_within_a_range_are_accepted(value: object) -> None:
    check_seconds("wait", value, 1, 10)


@pytest.mark.parametrize("value", [0.5, 10.5, math.nan, math.inf, "2", None])
def test_seconds_outside_a_range_are_refused(value: object) -> None:
    with pytest.raises(InvalidArgumentError, match=r"wait: .*; accepted: 1 to 10"):
        check_seconds("wait", value, 1, 10)


def test_seconds_may_be_without_end() -> None:
    check_seconds("wait", math.inf, 1)
    with pytest.raises(InvalidArgumentError, match=r"wait: nan .*: 1 or more"):
        check_seconds("wait", math.nan, 1)
