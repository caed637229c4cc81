"""How the package says what it doesn't accept, and what it would."""

from __future__ import annotations

import math
import numbers
import operator
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenpack.errors import InvalidArgumentError

_Call = TypeVar("_Call", bound=Callable[..., Any])

_MOST_CHARACTERS = 60

# The largest numbers of the API's unsigned fields.
_UINT32_MAX = (1 << 32) - 1
_UINT64_MAX = (1 << 64) - 1


def quoted(value: object) -> str:
    """A value of any kind on one line, cut where it is long."""
    text = ascii(value).replace("\n", " ")
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
    field: str,
    value: object,
    least: int = 0,
    most: int = _UINT64_MAX,
    place: str = "",
) -> int:
    """A whole number of any kind, NumPy's and PyTorch's too, as Python's own.

    Raises:
        InvalidArgumentError: it is none, or outside `least` to `most`.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError as error:
        accepted = f"an integer, {least} to {most}"
        raise invalid_argument(field, quoted(value), accepted, place) from error
    check_range(field, number, least, most, place)
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


def checked_number(field: str, value: object, *, positive: bool = False) -> float:
    """A number of any kind, NumPy's and PyTorch's too, as Python's own.

    As a float, whose quotients are exact to 53 bits, which those of a tensor of half
    precision are far from.

    Raises:
        InvalidArgumentError: it is none, negative or infinite, or 0 though it must be
            `positive`.
    """
    number = math.nan
    if not isinstance(value, str | bytes):
        # Of what is no number, or several, NumPy and PyTorch raise one each; an int may
        # be too large.
        with suppress(TypeError, ValueError, RuntimeError, OverflowError):
            number = float(value)  # type: ignore[arg-type]
    if not 0 <= number < math.inf or (positive and number == 0):
        least = "above 0" if positive else "at least 0"
        raise invalid_argument(field, quoted(value), f"{least}, and finite")
    return number


def checked_boolean(field: str, value: object) -> bool:
    """A truth value of any kind, NumPy's and PyTorch's too, as Python's own.

    The numbers 0 and 1 are taken for one.

    Raises:
        InvalidArgumentError: it is none.
    """
    own = value
    item = getattr(value, "item", None)
    if callable(item):
        # Of several elements, NumPy and PyTorch raise one each.
        with suppress(ValueError, RuntimeError):
            own = item()
    if isinstance(own, int) and own in (0, 1):
        return bool(own)
    raise invalid_argument(field, quoted(value), "True or False")


def checked_text(field: str, value: object) -> str:
    """A name or another text that goes over the wire.

    Raises:
        InvalidArgumentError: it is no str, or has what UTF-8 can't have.
    """
    if not isinstance(value, str):
        raise invalid_argument(field, quoted(value), "a str")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        accepted = "a str that UTF-8 can have"
        raise invalid_argument(field, quoted(value), accepted) from error
    return value


def checked_path(field: str, value: object) -> str:
    """A path of this machine, of a str or an os.PathLike of one.

    Raises:
        InvalidArgumentError: it is neither, or no file can have that name.
    """
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str):
        accepted = "a str, or an os.PathLike of one"
        raise invalid_argument(field, quoted(value), accepted)
    try:
        impossible = b"\0" in os.fsencode(path)
    except UnicodeEncodeError:
        impossible = True
    if impossible:
        raise invalid_argument(field, quoted(path), "a name that a file can have")
    return path


def checked_bytes(field: str, value: object) -> bytes:
    """Bytes of any kind as Python's own.

    Raises:
        InvalidArgumentError: it is no bytes, bytearray or memoryview.
    """
    if not isinstance(value, bytes | bytearray | memoryview):
        accepted = "bytes, a bytearray or a memoryview"
        raise invalid_argument(field, quoted(value), accepted)
    return bytes(value)


def as_array(
    field: str, values: object, accepted: str, place: str = ""
) -> NDArray[Any]:
    """What numpy makes of values, a view where they are an array's or a tensor's.

    Raises:
        InvalidArgumentError: nothing, as of lists of different length, or of a tensor
            on a device.
    """
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise invalid_argument(field, quoted(values), accepted, place) from error


def check_class(
    field: str, value: object, wanted: type | tuple[type, ...], accepted: str
) -> None:
    """Refuses what is of another class, and shows that class, not the value.

    Raises:
        InvalidArgumentError: it is.
    """
    if not isinstance(value, wanted):
        shown = None if value is None else type(value).__name__
        raise invalid_argument(field, shown, accepted)


def checked_callable(field: str, value: _Call | None, accepted: str) -> _Call:
    """What can be called; of what can't, the class is shown, as by check_class().

    Raises:
        InvalidArgumentError: it can't.
    """
    if not callable(value):
        shown = None if value is None else type(value).__name__
        raise invalid_argument(field, shown, accepted)
    return value


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
