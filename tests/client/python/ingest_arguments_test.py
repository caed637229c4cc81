"""Tests of what arguments evenpack.ingest refuses, and how it names them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from evenpack.corpora import LengthCorpus
from evenpack.errors import InvalidArgumentError
from evenpack.ingest import ingest
from example_producers import Recording


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"producer": None},
            "producer: NoneType is not accepted; accepted: a Producer, as "
            "Client.producer() opens it",
        ),
        (
            {"corpus": [1, 2, 3]},
            "corpus: list is not accepted; accepted: a corpus, as evenpack.corpora has "
            "them",
        ),
        (
            {"documents": 1.5},
            "documents: 1.5 is not accepted; accepted: an integer, 0 to 2",
        ),
        (
            {"batch_documents": None},
            "batch_documents: None is not accepted; accepted: an integer, 1 to 1048576",
        ),
        (
            {"end_of_stream": "no"},
            "end_of_stream: 'no' is not accepted; accepted: True or False",
        ),
        ({"by_value": None}, "by_value: None is not accepted; accepted: True or False"),
        (
            {"server_reads": 2},
            "server_reads: 2 is not accepted; accepted: True or False",
        ),
    ],
)
def test_an_argument_of_another_kind_is_named(
    arguments: dict[str, Any], message: str
) -> None:
    """Before anything is added."""
    producer = Recording()
    whole: dict[str, Any] = {"producer": producer, "corpus": LengthCorpus([1, 2])}
    with pytest.raises(InvalidArgumentError) as caught:
        ingest(**(whole | arguments))
    assert str(caught.value) == message
    assert producer.calls == []


def test_numbers_and_truths_of_numpy_are_taken() -> None:
    producer = Recording()
    two: Any = np.uint64(2)
    report = ingest(
        producer,
        LengthCorpus([5, 6, 7]),
        documents=two,
        batch_documents=two,
        end_of_stream=two == 3,
    )
    assert report.next_sequence == 2
    assert report.ended is False
