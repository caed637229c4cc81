"""Tests of what arguments evenpack.PackedDataset refuses, and how it names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import example_jobs
import numpy as np
import pytest
from evenpack import PackedDataset, TransportOptions
from evenpack.errors import InvalidArgumentError
from server_process import ServerProcess


def _local(documents: int = 100) -> PackedDataset:
    lengths = example_jobs.lengths(documents)
    return PackedDataset(spec=example_jobs.spec(), lengths=lengths)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"address": 1}, "address: 1 is not accepted; accepted: a str"),
        (
            {"address": "\ud800:1"},
            "address: '\\ud800:1' is not accepted; accepted: a str that UTF-8 can have",
        ),
        ({"job": b"run"}, "job: b'run' is not accepted; accepted: a str"),
        (
            {"options": {}},
            "options: dict is not accepted; accepted: a ServerOptions, or None",
        ),
        (
            {"options": TransportOptions()},
            "options: TransportOptions is not accepted; accepted: a ServerOptions, or "
            "None",
        ),
        (
            {"security": {"ca": "x"}},
            "security: dict is not accepted; accepted: a Security, or None",
        ),
    ],
)
def test_an_argument_of_another_kind_names_its_field(
    changes: dict[str, Any], named: str
) -> None:
    """When the dataset is made."""
    arguments: dict[str, Any] = {"address": "a:1", "job": "run"}
    with pytest.raises(InvalidArgumentError) as caught:
        PackedDataset(**(arguments | changes))
    assert str(caught.value) == named


def test_a_checkpoint_is_bytes_of_any_kind() -> None:
    dataset = _local()
    next(iter(dataset))
    whole = dataset.state_dict()["checkpoint"]
    lengths = example_jobs.lengths(100)
    found = PackedDataset(checkpoint=bytearray(whole), lengths=lengths)
    assert next(iter(found)).index == 1
    text: Any = "x"
    with pytest.raises(InvalidArgumentError) as caught:
        PackedDataset(checkpoint=text, lengths=lengths)
    assert str(caught.value) == (
        "checkpoint: 'x' is not accepted; accepted: bytes, a bytearray or a memoryview"
    )


@pytest.mark.parametrize(
    ("state", "named"),
    [
        (
            None,
            "state: None is not accepted; accepted: a mapping, of state_dict()",
        ),
        (
            [("version", 1)],
            "state: list is not accepted; accepted: a mapping, of state_dict()",
        ),
        ({"version": "1"}, "version: '1' is not accepted; accepted: 1"),
        (
            {"version": 1, "next_step": None, "digest": None, "epoch": 0}
            | {"checkpoint": "x"},
            "checkpoint: 'x' is not accepted; accepted: bytes, a bytearray or a "
            "memoryview",
        ),
    ],
)
def test_a_state_of_another_kind_is_refused(state: Any, named: str) -> None:  # noqa: ANN401
    dataset = _local()
    with pytest.raises(InvalidArgumentError) as caught:
        dataset.load_state_dict(state)
    assert str(caught.value) == named


def test_what_is_no_step_is_refused() -> None:
    """The state behind an index would lack the step's digest."""
    dataset: Any = _local()
    step = next(iter(dataset))
    calls: list[tuple[str, Callable[[], object]]] = [
        ("1", lambda: dataset.state_dict(1)),
        ("b'x'", lambda: dataset.state_dict(b"x")),
        ("0", lambda: dataset.report_latency(0, step[0])),
    ]
    for shown, call in calls:
        with pytest.raises(InvalidArgumentError) as caught:
            call()
        assert str(caught.value) == f"step: {shown} is not accepted; accepted: a Step"


def test_a_latency_that_can_not_be_is_named(server: ServerProcess) -> None:
    """Also at the bound of what the server's field holds."""
    client = example_jobs.client_of_fed_job(
        server.grpc_address, example_jobs.lengths(400)
    )
    with PackedDataset(client.address, job="run") as dataset:
        step = next(iter(dataset))
        most = (1 << 63) - 1
        first: Any = np.int64(0)
        dataset.report_latency(step, first, forward_ns=most, backward_ns=most)
        rows: list[tuple[dict[str, Any], str, str]] = [
            ({"forward_ns": most + 1}, f"forward_ns: {most + 1}", f"0 to {most}"),
            ({"backward_ns": 1.5}, "backward_ns: 1.5", f"an integer, 0 to {most}"),
            (
                {"micro_batch": len(step)},
                f"micro_batch: {len(step)}",
                f"0 to {len(step) - 1}",
            ),
            (
                {"micro_batch": None},
                "micro_batch: None",
                f"an integer, 0 to {len(step) - 1}",
            ),
        ]
        for changes, named, accepted in rows:
            with pytest.raises(InvalidArgumentError) as caught:
                dataset.report_latency(step, **({"micro_batch": 0} | changes))
            assert str(caught.value) == f"{named} is not accepted; accepted: {accepted}"
