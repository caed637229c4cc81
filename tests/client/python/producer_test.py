"""Tests of evenpack.producer against a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import example_jobs
import numpy as np
import pytest
from evenpack import Client, PackedDataset, TokenFile
from evenpack.errors import CancelledError, EvenpackError, InvalidArgumentError
from server_process import ServerProcess

DOCUMENTS = example_jobs.lengths(400)


@pytest.fixture
def client(server: ServerProcess) -> Client:
    """Whose server has the job `run`, without documents."""
    made = Client(server.grpc_address)
    made.create_job("run", example_jobs.spec())
    return made


def test_what_was_flushed_is_accepted(client: Client) -> None:
    """And a second producer goes on behind it."""
    with client.producer("run", "text") as producer:
        assert producer.next_sequence == 0
        producer.add(DOCUMENTS[:150])
        assert producer.next_sequence == 150
        producer.flush()
        assert producer.accepted_sequence == 150
    with client.producer("run", "text") as producer:
        assert producer.next_sequence == 150


def test_a_resend_is_accepted_once(client: Client) -> None:
    """A producer that lost count begins anew."""
    example_jobs.feed(client, "run", DOCUMENTS, end=False)
    with client.producer("run", "text", from_sequence=0) as producer:
        producer.add(DOCUMENTS)
        producer.flush()
    assert client.get_job("run").streams[0].next_sequence == len(DOCUMENTS)


def test_all_columns_arrive(client: Client) -> None:
    """At the trainer."""
    numbers = np.arange(len(DOCUMENTS))
    with client.producer("run", "text") as producer:
        producer.add(
            DOCUMENTS,
            ids=numbers + 7,
            loss_tokens=DOCUMENTS // 2,
            sources=numbers % 3,
        )
        producer.end_of_stream()
    seen = 0
    for rank in range(2):
        with PackedDataset(client.address, job="run", dp_rank=rank) as dataset:
            for step in dataset:
                for micro_batch in (step[i] for i in range(len(step))):
                    sequence = micro_batch.sequence
                    assert (micro_batch.id == sequence + 7).all()
                    assert (micro_batch.source == sequence % 3).all()
                    halves = micro_batch.document_length // 2
                    assert (micro_batch.document_loss_tokens == halves).all()
                    seen += len(sequence)
    assert seen == len(DOCUMENTS)


@pytest.mark.parametrize(
    ("token_ids", "named"),
    [
        ([1, 2, 3, 4], r"token_ids: 4 entries is not accepted; accepted: none, or 5"),
        ([1, 2, 3, 4, 5, 6], r"token_ids: 6 entries is not accepted"),
        ([1, 2, -3, 4, 5], r"token_ids\[2\]: -3 is not accepted; accepted: 0 to 4294"),
        ([1, 1 << 32, 3, 4, 5], r"token_ids\[1\]: 4294967296 is not accepted"),
        ([[1, 2], [3, 4]], r"token_ids: int64 of shape \(2, 2\) is not accepted"),
        ([1.0, 2.0, 3.0, 4.0, 5.0], r"token_ids: float64 of shape \(5,\)"),
    ],
)
def test_what_are_not_the_documents_tokens_is_refused(
    client: Client, token_ids: list[int], named: str
) -> None:
    """By name, and nothing of the call is added."""
    with client.producer("run", "text") as producer:
        with pytest.raises(InvalidArgumentError, match=named):
            producer.add([3, 2], token_ids=token_ids)
        assert producer.next_sequence == 0


@pytest.mark.parametrize(
    ("file", "named"),
    [
        (
            TokenFile("web.bin", 4, [0, 12]),
            r"token_file\.path: 'web\.bin' is not accepted; accepted: an absolute path",
        ),
        (
            TokenFile("/data/\udcff.bin", 4, [0, 12]),
            r"token_file\.path: '/data/\\udcff\.bin' is not .*: a path in UTF-8",
        ),
        (
            TokenFile("/data/web.bin", 8, [0, 12]),
            r"token_file\.token_bytes: 8 is not accepted; accepted: 2 or 4",
        ),
        (
            TokenFile("/data/web.bin", -4, [0, 12]),
            r"token_file\.token_bytes: -4 is not accepted; accepted: 2 or 4",
        ),
        (
            TokenFile("/data/web.bin", 2, [0, 12, 14]),
            r"token_file\.offset: 3 entries is not .*: one for each of 2 documents",
        ),
        (
            TokenFile("/data/web.bin", 2, []),
            r"token_file\.offset: 0 entries is not accepted",
        ),
        (
            TokenFile(Path("/data/web.bin"), 2, [0, -2]),
            r"token_file\.offsets\[1\]: -2 is not accepted; accepted: 0 to 18446744",
        ),
        (
            "/data/web.bin",
            r"token_file: str is not accepted; accepted: a TokenFile, or None",
        ),
        (
            TokenFile(cast(str, None), 2, [0, 12]),
            r"token_file\.path: None is not accepted; accepted: a str, or an os",
        ),
    ],
)
def test_what_is_no_place_of_tokens_is_refused(
    client: Client,
    file: Any,  # noqa: ANN401
    named: str,
) -> None:
    """By name, and nothing of the call is added."""
    with client.producer("run", "text") as producer:
        with pytest.raises(InvalidArgumentError, match=named):
            producer.add([3, 2], token_file=file)
        assert producer.next_sequence == 0


def test_tokens_come_by_themselves_or_by_their_place(client: Client) -> None:
    """Not both."""
    file = TokenFile("/data/web.bin", 4, [0])
    named = r"token_ids: 2 entries is not accepted; accepted: none where a token_file"
    with client.producer("run", "text") as producer:
        with pytest.raises(InvalidArgumentError, match=named):
            producer.add([2], token_ids=[7, 8], token_file=file)
        assert producer.next_sequence == 0


def test_a_document_longer_than_the_job_takes_is_refused(client: Client) -> None:
    """By number, and nothing is lost that was accepted."""
    with client.producer("run", "text") as producer:
        producer.add([10, 20])
        producer.flush()
        with pytest.raises(InvalidArgumentError, match="5000"):
            producer.add([5000])
            producer.flush()
    assert client.get_job("run").streams[0].next_sequence == 2


def test_a_cancelled_producer_says_so(client: Client) -> None:
    """Rather than wait."""
    producer = client.producer("run", "text")
    producer.cancel()
    with pytest.raises(CancelledError):
        producer.add([1])
        producer.flush()


def test_a_stream_that_there_is_not(client: Client) -> None:
    """The message has its name."""
    with pytest.raises(EvenpackError, match="code"):
        client.producer("run", "code")
