"""Tests of evenpack.corpora.until_error."""

from __future__ import annotations

from evenpack.corpora.until_error import until_error


def test_all_items_come_where_there_is_no_error() -> None:
    assert until_error(range(3)) == ([0, 1, 2], None)
    assert until_error([]) == ([], None)


def test_the_items_before_an_error_come_with_it() -> None:
    items, error = until_error(12 // (3 - n) for n in range(9))
    assert items == [4, 6, 12]
    assert isinstance(error, ZeroDivisionError)
