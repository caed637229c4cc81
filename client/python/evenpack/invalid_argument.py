"""How the package says what it doesn't accept, and what it would."""

from __future__ import annotations

from evenpack.errors import InvalidArgumentError

_MOST_CHARACTERS = 60


def quoted(value: object) -> str:
    """A value of any kind on one line, cut where it is long."""
    text = ascii(value)
    if len(text) <= _MOST_CHARACTERS:
        return text
    return f"{text[:_MOST_CHARACTERS]}..."


def invalid_argument(
    field: str, value: object, accepted: str, place: str = ""
) -> InvalidArgumentError:
    """The error that says so, for the caller to raise.

    Args:
        field: the argument's name, as whoever reads the message knows it.
        value: shown as it is printed; `quoted()` makes any value short.
        accepted: what would do, in words.
        place: the file, and where in it.
    """
    wrong = f"{value} is not accepted; accepted: {accepted}"
    before = f"{place}: " if place else ""
    return InvalidArgumentError(f"{before}{field}: {wrong}", fields=[(field, wrong)])


def check_range(field: str, value: int, least: int, most: int, place: str = "") -> None:
    """Refuses a number outside `least` to `most`.

    Raises:
        InvalidArgumentError: it is.
    """
    if not least <= value <= most:
        raise invalid_argument(field, value, f"{least} to {most}", place)
