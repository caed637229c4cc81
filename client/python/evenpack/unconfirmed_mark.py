"""A durable mark that outlives the subscription that was to send it."""

from __future__ import annotations

from collections.abc import Callable

from evenpack.errors import (
    CancelledError,
    DeadlineExceededError,
    EvenpackError,
    ResourceExhaustedError,
    UnavailableError,
)
from evenpack.steps import Position

# Whoever asks again may be heard.
_PASSING = (
    CancelledError,
    DeadlineExceededError,
    ResourceExhaustedError,
    UnavailableError,
)


class UnconfirmedMark:
    """What a subscription was told to mark, and the server has not confirmed.

    The trainer's next checkpoint may lie beyond the steps that the job decides without
    it, so that no later mark would stand for it. One thread at a time.
    """

    def __init__(self) -> None:
        """There is none."""
        self._position: Position | None = None

    def note(self, mark: tuple[int, int] | None) -> None:
        """A subscription ends with this step and its epoch unconfirmed, or with none.

        One that was noted before stays: it has not been sent since.
        """
        if mark is not None:
            step, epoch = mark
            self._position = Position(step + 1, None, epoch)

    def forget(self) -> None:
        """The trainer goes on from elsewhere."""
        self._position = None

    def send(self, acknowledge: Callable[[Position], None]) -> None:
        """Has it acknowledged, if there is one; what the server refuses is forgotten.

        Raises:
            EvenpackError: as acknowledge does.
        """
        if self._position is None:
            return
        try:
            acknowledge(self._position)
        except EvenpackError as error:
            if not isinstance(error, _PASSING):
                self._position = None
            raise
        self._position = None
