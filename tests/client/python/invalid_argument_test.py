"""Tests of the words of an argument that is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evenpack.errors import InvalidArgumentError
from evenpack.invalid_argument import (
    check_class,
    check_range,
    check_seconds,
    checked_boolean,
    checked_bytes,
    checked_callable,
    checked_index,
    checked_integer,
    checked_number,
    checked_path,
    checked_text,
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
        (np.array([[1], [2]]), "array([[1],        [2]])"),
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


def test_an_integer_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        checked_integer("n", None, 0, 7, "here")
    assert str(caught.value) == (
        "here: n: None is not accepted; accepted: an integer, 0 to 7"
    )


def test_integers_of_pytorch_become_pythons_own() -> None:
    torch = pytest.importorskip("torch")
    for value in (torch.tensor(3), torch.tensor([3], dtype=torch.uint8)):
        assert type(checked_integer("n", value)) is int
        assert checked_integer("n", value) == 3


@pytest.mark.parametrize("value", [3, 3.0, np.float16(3), np.array(3)])
def test_any_kind_of_number_becomes_pythons_own(value: object) -> None:
    number = checked_number("tokens", value, positive=True)
    assert type(number) is float
    assert number == 3.0


@pytest.mark.parametrize(
    "value", [None, "3", b"3", [], np.ones(2), -1, math.nan, math.inf, 10**400]
)
def test_what_is_no_number_is_refused(value: object) -> None:
    accepted = "is not accepted; accepted: at least 0, and finite$"
    with pytest.raises(InvalidArgumentError, match=accepted):
        checked_number("tokens", value)


def test_nought_is_no_positive_number() -> None:
    assert checked_number("seconds", 0) == 0
    with pytest.raises(InvalidArgumentError, match=r": above 0, and finite$"):
        checked_number("seconds", 0, positive=True)


@pytest.mark.parametrize(("value", "shown"), [(None, "None"), ("len", "str")])
def test_what_can_not_be_called_is_shown_by_its_class(
    value: Any,  # noqa: ANN401
    shown: str,
) -> None:
    assert checked_callable("tokens_of", len, "a function") is len
    with pytest.raises(InvalidArgumentError) as error:
        checked_callable("tokens_of", value, "a function")
    assert str(error.value) == (
        f"tokens_of: {shown} is not accepted; accepted: a function"
    )


@pytest.mark.parametrize("value", [True, np.True_, np.array(True), np.array([True]), 1])
def test_any_kind_of_truth_becomes_pythons_own(value: object) -> None:
    assert checked_boolean("on", value) is True
    assert checked_boolean("on", value != value) is False


def test_truths_of_pytorch_become_pythons_own() -> None:
    torch = pytest.importorskip("torch")
    assert checked_boolean("on", torch.tensor(1) == 1) is True
    assert checked_boolean("on", torch.tensor([False])) is False
    with pytest.raises(InvalidArgumentError, match=r"on: tensor\(\[True, True\]\)"):
        checked_boolean("on", torch.tensor([True, True]))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "None"),
        ("0", "'0'"),
        (2, "2"),
        (-1, "-1"),
        (1.0, "1.0"),
        (np.array([True, False]), "array([ True, False])"),
        ([True], "[True]"),
    ],
)
def test_what_is_no_truth_is_refused(value: object, shown: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        checked_boolean("on", value)
    assert str(caught.value) == (
        f"on: {shown} is not accepted; accepted: True or False"
    )


@pytest.mark.parametrize("value", ["", "run", "\u00e4", np.str_("run")])
def test_a_text_is_accepted(value: str) -> None:
    assert checked_text("job", value) == value


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (None, "job: None is not accepted; accepted: a str"),
        (b"run", "job: b'run' is not accepted; accepted: a str"),
        (7, "job: 7 is not accepted; accepted: a str"),
        (
            "\ud800",
            "job: '\\ud800' is not accepted; accepted: a str that UTF-8 can have",
        ),
    ],
)
def test_what_is_no_text_is_refused(value: object, named: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        checked_text("job", value)
    assert str(caught.value) == named


def test_a_path_may_be_of_either_kind() -> None:
    """Also one whose name is no UTF-8, as Python has it."""
    assert checked_path("ca", "a/b") == "a/b"
    assert checked_path("ca", Path("a/b")) == "a/b"
    assert checked_path("ca", "\udcff") == "\udcff"


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (None, "ca: None is not accepted; accepted: a str, or an os.PathLike of one"),
        (b"a", "ca: b'a' is not accepted; accepted: a str, or an os.PathLike of one"),
        (1, "ca: 1 is not accepted; accepted: a str, or an os.PathLike of one"),
        ("a\0", "ca: 'a\\x00' is not accepted; accepted: a name that a file can have"),
        (
            "\ud800",
            "ca: '\\ud800' is not accepted; accepted: a name that a file can have",
        ),
    ],
)
def test_what_is_no_path_is_refused(value: object, named: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        checked_path("ca", value)
    assert str(caught.value) == named


@pytest.mark.parametrize("value", [b"ab", bytearray(b"ab"), memoryview(b"ab")])
def test_bytes_of_any_kind_become_pythons_own(value: object) -> None:
    found = checked_bytes("checkpoint", value)
    assert found == b"ab"
    assert type(found) is bytes


@pytest.mark.parametrize(("value", "shown"), [(None, "None"), ("ab", "'ab'"), (2, "2")])
def test_what_has_no_bytes_is_refused(value: object, shown: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        checked_bytes("checkpoint", value)
    assert str(caught.value) == (
        f"checkpoint: {shown} is not accepted; accepted: bytes, a bytearray or a "
        "memoryview"
    )


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "None"), ("secret", "str"), ({}, "dict")]
)
def test_another_class_is_refused_and_the_value_not_shown(
    value: object, shown: str
) -> None:
    check_class("n", 1, (int, str), "an int")
    with pytest.raises(InvalidArgumentError) as caught:
        check_class("security", value, int, "an int")
    assert str(caught.value) == f"security: {shown} is not accepted; accepted: an int"


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
