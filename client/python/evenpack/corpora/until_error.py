"""What can be had before an error, so that it is not lost with what follows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")


def until_error(items: Iterable[Item]) -> tuple[list[Item], Exception | None]:
    """The items before the first error, whatever raises it, and that."""
    had: list[Item] = []
    try:
        had.extend(items)
    except Exception as error:
        return had, error
    return had, None
