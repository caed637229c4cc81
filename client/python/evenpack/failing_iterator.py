"""An iterator that does not take an error for its end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from evenpack.data_loader_worker import is_worker
from evenpack.errors import CancelledError, EvenpackError
from evenpack.invalid_argument import quoted

Item = TypeVar("Item")


class FailingIterator(Iterator[Item]):
    """Gives what a generator gives, and after an error of it only errors.

    The generator itself would say StopIteration from then on, which whoever tries again
    takes for the end.
    """

    def __init__(self, items: Iterator[Item]) -> None:
        """Of the generator."""
        self._items = items
        self._error: str | None = None

    def __next__(self) -> Item:
        """The next item.

        Raises:
            CancelledError: there was an error before.
        """
        if self._error is not None:
            raise CancelledError(
                f"this iteration has ended with {self._error}; begin another to go on"
            )
        try:
            # A loop, since behind a call of next() a signal's handler could raise, and
            # the item were lost.
            for item in self._items:
                return item
        except BaseException as error:
            self._error = quoted(error)
            if isinstance(error, EvenpackError) and is_worker():
                error.say_all()
            raise
        raise StopIteration
