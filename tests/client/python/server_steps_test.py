"""Tests of how a server's job is to be followed; with a server: dataset_test."""

from __future__ import annotations

import math
from typing import Any

import pytest
from evenpack import ServerOptions
from evenpack.errors import InvalidArgumentError


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"credits": 0}, "credits: 0 .*: 1 to 2147483647"),
        ({"credits": -1}, "credits: -1 .*: 1 to 2147483647"),
        ({"credits": 1.5}, "credits: 1.5 .*: an integer"),
        ({"max_buffered_bytes": 0}, "max_buffered_bytes: 0 .*: 1 to"),
        ({"max_buffered_bytes": 1 << 64}, "max_buffered_bytes: 18446744073709551616"),
        ({"patience_seconds": -1}, "patience_seconds: -1 .*: 0 or more"),
        ({"patience_seconds": math.nan}, "patience_seconds: nan .*: 0 or more"),
    ],
)
def test_a_number_that_cannot_be_names_its_field(
    arguments: dict[str, Any], named: str
) -> None:
    """When the options are made."""
    with pytest.raises(InvalidArgumentError, match=named):
        ServerOptions(**arguments)


def test_a_server_may_be_waited_for_without_end() -> None:
    assert ServerOptions(patience_seconds=math.inf).patience_seconds == math.inf
