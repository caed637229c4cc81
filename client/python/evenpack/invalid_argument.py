"""How the package says what it doesn't accept, and what it would."""

from __future__ import annotations

import math
import numbers
import operator

from evenpack.errors import InvalidArgumentError

_MOST_CHARACTERS = 60

# The largest numbers of the API's unsigned fields.
_UINT32_MAX = (1 << 32) - 1
_UINT64_MAX = (1 << 64) - 1


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


def checked_integer(
    field: str, value: object, least: int = 0, most: int = _UINT64_MAX
) -> int:
    """A whole number of any kind, NumPy's too, as Python's own.

    Raises:
        InvalidArgumentError: it is none, or outside `least` to `most`.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError as error:
        accepted = f"an integer, {least} to {most}"
        raise invalid_argument(field, quoted(value), accepted) from error
    check_range(field, number, least, most)
    return number


def checked_uint32(field: str, value: object, least: int = 0) -> int:
    """A rank, a size or a count, as the API holds them in 32 bits.

    Raises:
        InvalidArgumentError: anything else.
    """
    return checked_integer(field, value, least, _UINT32_MAX)


def checked_index(field: str, value: object) -> int | None:
    """A step, an epoch or a sequence number, or None where it is left out.

    Raises:
        InvalidArgumentError: anything else.
    """
    return None if value is None else checked_integer(field, value)


def check_seconds(
    field: str, value: object, least: float, most: float = math.inf
) -> None:
    """Refuses what is no number of seconds from `least` to `most`.

    Raises:
        InvalidArgumentError: it isn't.
    """
    if not isinstance(value, numbers.Real) or not least <= float(value) <= most:
        range_ = f"{least:g} or more" if most == math.inf else f"{least:g} to {most:g}"
        raise invalid_argument(field, quoted(value), range_)
