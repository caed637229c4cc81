"""Tests of how a server's job is to be followed; with a server: dataset_test."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
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


@pytest.mark.parametrize(
    ("name", "value", "shown", "accepted"),
    [
        ("subscriber", None, "None", "a str"),
        ("subscriber", b"x", "b'x'", "a str"),
        ("subscriber", "\ud800", "'\\ud800'", "a str that UTF-8 can have"),
        ("sends_durable", None, "None", "True or False"),
        ("sends_durable", "no", "'no'", "True or False"),
        ("follow_epochs", 1.5, "1.5", "True or False"),
        ("layout", 1, "1", "a str"),
        (
            "layout",
            "thd",
            "'thd'",
            "native, megatron_thd, te_thd, pytorch_cp, ring_llama3, hf_flat",
        ),
        ("transport", None, "None", "a TransportOptions"),
        ("transport", {}, "dict", "a TransportOptions"),
    ],
)
def test_a_value_of_another_kind_names_its_field(
    name: str, value: object, shown: str, accepted: str
) -> None:
    """When the options are made."""
    fields: dict[str, Any] = {name: value}
    with pytest.raises(InvalidArgumentError) as caught:
        ServerOptions(**fields)
    assert str(caught.value) == (
        f"{name}: {shown} is not accepted; accepted: {accepted}"
    )


def test_numbers_and_truths_of_numpy_become_pythons_own() -> None:
    """As a rank that is compared gives them."""
    rank: Any = np.int64(0)
    options = ServerOptions(
        sends_durable=rank == 0, follow_epochs=rank == 1, credits=rank + 3
    )
    assert options == ServerOptions(credits=3)
    assert type(options.credits) is int
    assert options.sends_durable is True


def test_a_server_may_be_waited_for_without_end() -> None:
    assert ServerOptions(patience_seconds=math.inf).patience_seconds == math.inf
