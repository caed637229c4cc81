"""One document from a line of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from evenpack.corpora.corpus import MAX_LENGTH
from evenpack.corpora.fields import Fields
from evenpack.invalid_argument import invalid_argument, quoted

_MOST_ID = (1 << 64) - 1
MOST_NUMBER = (1 << 32) - 1


@dataclass(frozen=True)
class JsonlDocument:
    """What a line says.

    Attributes:
        content: a text, token ids or a length, as the fields have it.
        id: None where the line has none.
        loss_tokens: None where no field is named for them; not compared with the
            length.
        source: the same.
    """

    content: str | NDArray[np.uint32] | int
    id: int | None
    loss_tokens: int | None
    source: int | None


def parse_document(line: bytes, fields: Fields, place: str) -> JsonlDocument:
    """The document of a line.

    Args:
        line: a JSON object.
        fields: a field that is named must be there; without a name for the id it is
            "id", where that is a whole number.
        place: of the line, for messages.

    Raises:
        InvalidArgumentError: naming the field, or saying that it is no JSON object.
    """
    record = _object(line, place)
    return JsonlDocument(
        _content(record, fields, place),
        _id(record, fields, place),
        _number(record, fields.loss_tokens, MAX_LENGTH, place),
        _number(record, fields.source, MOST_NUMBER, place),
    )


def _refuse_constant(name: str) -> NoReturn:
    """NaN and the infinities, which Python's JSON has beyond the standard's."""
    raise ValueError(name)


def _object(line: bytes, place: str) -> Mapping[str, Any]:
    accepted = "a JSON object"
    try:
        found = json.loads(line.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise invalid_argument("line", quoted(line), accepted, place) from error
    if not isinstance(found, dict):
        raise invalid_argument("line", quoted(line), accepted, place)
    return found


def _field(record: Mapping[str, Any], name: str, accepted: str, place: str) -> object:
    if name not in record:
        raise invalid_argument(f"field '{name}'", "a line without it", accepted, place)
    return record[name]


def _whole(value: object, name: str, least: int, most: int, place: str) -> int:
    # A bool is an int to isinstance.
    if type(value) is int and least <= value <= most:
        return value
    accepted = f"a whole number from {least} to {most}"
    raise invalid_argument(f"field '{name}'", quoted(value), accepted, place)


def _number(
    record: Mapping[str, Any], name: str | None, most: int, place: str
) -> int | None:
    if name is None:
        return None
    value = _field(record, name, f"a whole number from 0 to {most}", place)
    return _whole(value, name, 0, most, place)


def _id(record: Mapping[str, Any], fields: Fields, place: str) -> int | None:
    if fields.id is not None:
        return _number(record, fields.id, _MOST_ID, place)
    value = record.get("id")
    return value if type(value) is int and 0 <= value <= _MOST_ID else None


def _content(
    record: Mapping[str, Any], fields: Fields, place: str
) -> str | NDArray[np.uint32] | int:
    if fields.text is not None:
        return _text(_field(record, fields.text, "a text", place), fields.text, place)
    if fields.tokens is not None:
        found = _field(record, fields.tokens, "a list of token ids", place)
        return _token_ids(found, fields.tokens, place)
    name = fields.content
    found = _field(record, name, f"a whole number from 1 to {MAX_LENGTH}", place)
    return _whole(found, name, 1, MAX_LENGTH, place)


def _text(value: object, name: str, place: str) -> str:
    if not isinstance(value, str):
        raise invalid_argument(f"field '{name}'", quoted(value), "a text", place)
    try:
        # JSON can name half of a pair, which no text in UTF-8 has.
        value.encode()
    except UnicodeEncodeError as error:
        half = quoted(value[error.start])
        accepted = "a text of whole characters"
        raise invalid_argument(f"field '{name}'", half, accepted, place) from error
    return value


def _token_ids(value: object, name: str, place: str) -> NDArray[np.uint32]:
    if not isinstance(value, list) or not set(map(type, value)) <= {int}:
        accepted = "a list of whole numbers"
        raise invalid_argument(f"field '{name}'", quoted(value), accepted, place)
    for token in (min(value), max(value)) if value else ():
        if not 0 <= token <= MAX_LENGTH:
            accepted = f"token ids from 0 to {MAX_LENGTH}"
            raise invalid_argument(f"field '{name}'", token, accepted, place)
    return np.array(value, dtype=np.uint32)
