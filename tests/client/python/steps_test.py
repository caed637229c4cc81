"""Tests of evenpack.steps: where a dataset's state says that it was."""

from __future__ import annotations

import pytest
from evenpack.errors import InvalidArgumentError
from evenpack.steps import Position

STATE: dict[str, object] = {"next_step": 3, "digest": bytes(16), "epoch": 1}


def test_a_state_says_where_to_go_on() -> None:
    """Nowhere yet, where it is of before the first step."""
    assert Position.of_state(STATE) == Position(3, bytes(16), 1)
    assert Position.of_state(STATE | {"digest": None}) == Position(3, None, 1)
    assert Position.of_state(STATE | {"next_step": None}) is None


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"next_step": -2}, "next_step: -2 .*: 1 to 18446744073709551615"),
        ({"next_step": "2"}, "next_step: '2' .*: an integer, 1 to"),
        ({"digest": b"1"}, "digest: b'1' .*: 16 bytes, or None"),
        ({"epoch": None}, "epoch: None .*: an integer, 0 to"),
    ],
)
def test_a_state_of_what_can_not_be_is_refused(
    changes: dict[str, object], named: str
) -> None:
    """By the key's name."""
    with pytest.raises(InvalidArgumentError, match=named):
        Position.of_state(STATE | changes)


@pytest.mark.parametrize("key", list(STATE))
def test_a_state_without_a_key_is_refused(key: str) -> None:
    """It is none of a dataset's."""
    without = {name: value for name, value in STATE.items() if name != key}
    with pytest.raises(InvalidArgumentError, match=f"{key}: nothing"):
        Position.of_state(without)
