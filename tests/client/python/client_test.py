"""Tests of evenpack.client against a real server."""

from __future__ import annotations

import math
import multiprocessing
import re
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import example_jobs
import pytest
from evenpack import Client, PackedDataset, ServerOptions
from evenpack.errors import (
    AbortedError,
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    UnavailableError,
)
from evenpack.v1.job_pb2 import MERGE_MODE_INTERLEAVE
from server_process import ServerProcess


@pytest.fixture
def client(server: ServerProcess) -> Client:
    """Of a server without jobs."""
    return Client(server.grpc_address)


def test_a_job_is_made_found_and_deleted(client: Client) -> None:
    """With its defaults filled in."""
    made = client.create_job("run", example_jobs.spec())
    assert made.name == "run"
    assert made.spec.merge == MERGE_MODE_INTERLEAVE
    assert client.get_job("run") == made
    assert [job.name for job in client.list_jobs()] == ["run"]
    client.delete_job("run")
    assert client.list_jobs() == []


def test_another_job_of_the_name_is_refused(client: Client) -> None:
    """It keeps its spec."""
    client.create_job("run", example_jobs.spec())
    with pytest.raises(AlreadyExistsError, match="run"):
        client.create_job("run", example_jobs.spec(window=8192))


def test_the_log_has_what_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    """Once it has lasted some seconds, and in the log that Python's own is."""
    with pytest.raises(UnavailableError):
        Client("127.0.0.1:1", patience_seconds=12).list_jobs()
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("evenpack", "WARNING")
    assert re.match(
        r"ListJobs has failed for \d+ s and is tried for \d s more: UNAVAILABLE: ",
        record.getMessage(),
    )


def test_a_fork_is_told_that_its_calls_would_hang(client: Client) -> None:
    """While the parent has a stream open, and gRPC's threads."""
    client.create_job("run", example_jobs.spec())
    producer = client.producer("run", "text")
    producer.add([100])
    producer.flush()
    fork = multiprocessing.get_context("fork")
    receiving, sending = fork.Pipe(duplex=False)

    def call() -> None:
        signal.alarm(60)
        for asked in (client.get_job, lambda name: client.producer(name, "text")):
            try:
                sending.send(str(asked("run")))
            except FailedPreconditionError as error:
                sending.send(error.message)

    child = fork.Process(target=call)
    child.start()
    sending.close()
    for _ in range(2):
        assert "'spawn'" in receiving.recv()
    child.join(60)
    assert child.exitcode == 0
    producer.add([100])
    producer.flush()


def test_a_spec_that_can_not_be_names_its_field(client: Client) -> None:
    """In the message, and apart."""
    with pytest.raises(InvalidArgumentError, match=r"spec.window: 0") as raised:
        client.create_job("run", example_jobs.spec(window=0))
    assert [field for field, _ in raised.value.fields] == ["spec.window"]


def test_a_job_that_there_is_not(client: Client) -> None:
    """Each call names it."""
    for call in (
        lambda: client.get_job("none"),
        lambda: client.checkpoint_job("none", 0),
        lambda: client.rewind_job("none", 0),
        lambda: client.acknowledge("none", 0, 0, 0),
        lambda: client.update_job("none", example_jobs.spec()),
        lambda: client.producer("none", "text"),
    ):
        with pytest.raises(NotFoundError, match="none"):
            call()


def test_numbers_that_cannot_be_name_their_field() -> None:
    """Before the server is asked: there is none."""
    client = Client("127.0.0.1:1", patience_seconds=0)
    spec = example_jobs.spec()
    calls: list[tuple[str, Callable[[], object]]] = [
        ("step: -1", lambda: client.checkpoint_job("run", -1)),
        ("from_step: -1", lambda: client.rewind_job("run", -1)),
        ("expected_epoch: -1", lambda: client.rewind_job("run", 1, expected_epoch=-1)),
        ("step: -1", lambda: client.fork_job("run", "other", -1)),
        ("from_step: -1", lambda: client.update_job("run", spec, from_step=-1)),
        (
            "expected_epoch: -1",
            lambda: client.update_job("run", spec, expected_epoch=-1),
        ),
        (
            r"documents\.first_sequence: -1",
            lambda: client.skip_documents("run", [("text", -1, 2)]),
        ),
        (
            r"documents\.documents: -2",
            lambda: client.skip_documents("run", [("text", 1, -2)]),
        ),
        ("dp_rank: 4294967296", lambda: client.acknowledge("run", 1 << 32, 0, 0)),
        ("epoch: -1", lambda: client.acknowledge("run", 0, 0, -1)),
        (
            "from_sequence: -1",
            lambda: client.producer("run", "text", from_sequence=-1),
        ),
        ("patience_seconds: nan", lambda: Client("a:1", patience_seconds=math.nan)),
    ]
    for named, call in calls:
        with pytest.raises(InvalidArgumentError, match=f"^{named} is not accepted"):
            call()


_NO_TEXT = "is not accepted; accepted: a str"


def test_arguments_of_another_kind_name_their_field() -> None:
    """Before the server is asked: there is none."""
    client = Client("127.0.0.1:1", patience_seconds=0)
    spec = example_jobs.spec()
    tell: Any = client  # not as its types have it
    make: Any = Client
    triples = "(stream, first sequence number, how many)"
    calls: list[tuple[str, Callable[[], object]]] = [
        (f"name: None {_NO_TEXT}", lambda: tell.create_job(None, spec)),
        (f"name: b'run' {_NO_TEXT}", lambda: tell.get_job(b"run")),
        (f"name: ['run'] {_NO_TEXT}", lambda: tell.delete_job(["run"])),
        (f"name: 5 {_NO_TEXT}", lambda: tell.update_job(5, spec)),
        (f"name: None {_NO_TEXT}", lambda: tell.checkpoint_job(None, 0)),
        (f"name: None {_NO_TEXT}", lambda: tell.restore_job(None, b"")),
        (
            f"name: '\\ud800' {_NO_TEXT} that UTF-8 can have",
            lambda: tell.rewind_job("\ud800", 0),
        ),
        (f"new_name: None {_NO_TEXT}", lambda: tell.fork_job("run", None, 0)),
        (f"name: None {_NO_TEXT}", lambda: tell.acknowledge(None, 0, 0, 0)),
        (f"job: 1 {_NO_TEXT}", lambda: tell.producer(1, "text")),
        (f"stream: None {_NO_TEXT}", lambda: tell.producer("run", None)),
        (
            "checkpoint: 'x' is not accepted; accepted: bytes, a bytearray or a "
            "memoryview",
            lambda: tell.restore_job("run", "x"),
        ),
        (
            f"documents: None is not accepted; accepted: some {triples}",
            lambda: tell.skip_documents("run", None),
        ),
        (
            f"documents[1]: ('text', 0) is not accepted; accepted: {triples}",
            lambda: tell.skip_documents("run", [("text", 0, 1), ("text", 0)]),
        ),
        (
            f"documents.stream: 1 {_NO_TEXT}",
            lambda: tell.skip_documents("run", [(1, 0, 1)]),
        ),
        (f"address: None {_NO_TEXT}", lambda: make(None)),
        (
            "options: ServerOptions is not accepted; accepted: a TransportOptions, or "
            "None",
            lambda: make("a:1", options=ServerOptions()),
        ),
        (
            "security: str is not accepted; accepted: a Security, or None",
            lambda: make("a:1", security="secret"),
        ),
    ]
    for named, call in calls:
        with pytest.raises(InvalidArgumentError) as caught:
            call()
        assert str(caught.value) == named


def test_a_checkpoint_may_be_bytes_of_any_kind(client: Client) -> None:
    client.create_job("run", example_jobs.spec())
    example_jobs.feed(client, "run", example_jobs.lengths(400))
    whole = client.checkpoint_job("run", 0).checkpoint
    for i, kind in enumerate((bytearray, memoryview)):
        assert client.restore_job(f"other{i}", kind(whole)).name == f"other{i}"


def test_a_job_is_reshaped_only_from_the_epoch_expected(client: Client) -> None:
    """Or two operators would undo each other's."""
    client.create_job("run", example_jobs.spec())
    wide = example_jobs.spec(parallelism={"data": 4})
    assert client.update_job("run", wide, expected_epoch=0).epoch == 1
    with pytest.raises(AbortedError):
        client.update_job("run", example_jobs.spec(), expected_epoch=0)


def test_a_job_is_rewound_forked_and_documents_are_skipped(client: Client) -> None:
    """As after a loss spike."""
    documents = example_jobs.lengths(800)
    client.create_job("run", example_jobs.spec())
    example_jobs.feed(client, "run", documents)
    original = _digests(client, "run")
    assert client.fork_job("run", "other", 3).durable_steps == 4
    assert _digests(client, "other") == original[4:]
    last = len(documents) - 50
    skipped = client.skip_documents("other", [("text", last, 50)], from_step=5)
    assert skipped.streams[0].skipped[0].documents == 50
    assert _digests(client, "other")[0] == original[4]
    assert _digests(client, "other")[-1] != original[-1]
    assert client.rewind_job("run", 2, expected_epoch=0).epoch == 1
    assert _digests(client, "run") == original


def _digests(client: Client, job: str) -> list[bytes]:
    with PackedDataset(client.address, job=job) as dataset:
        return [step.digest for step in dataset]


def test_patience_ends() -> None:
    """A server that is away is not waited for any longer."""
    with pytest.raises(UnavailableError):
        Client("127.0.0.1:1", patience_seconds=0.2).get_job("run")


@pytest.fixture
def handlers() -> Iterator[None]:
    """Of a program that ends with Ctrl-C, or says itself how it is terminated."""

    def terminated(_: int, __: FrameType | None) -> None:
        raise SystemExit(143)

    given = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: terminated}
    before = {number: signal.signal(number, given[number]) for number in given}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.get_job("run"),
        lambda client: client.list_jobs(),
        lambda client: client.delete_job("run"),
        lambda client: client.create_job("run", example_jobs.spec()),
        lambda client: client.acknowledge("run", 0, 3, 0),
        lambda client: client.producer("run", "text"),
    ],
    ids=["get_job", "list_jobs", "delete_job", "create_job", "acknowledge", "producer"],
)
@pytest.mark.parametrize(
    ("number", "raised"),
    [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)],
)
def test_a_call_to_a_server_that_is_away_ends_with_what_a_handler_raises(
    call: Callable[[Client], object],
    number: signal.Signals,
    raised: type[BaseException],
) -> None:
    """At once, and not when the patience is over."""
    client = Client("127.0.0.1:1", patience_seconds=600)
    main = threading.main_thread().ident
    assert main is not None
    interrupt = threading.Timer(0.2, signal.pthread_kill, (main, number))
    interrupt.start()
    with pytest.raises(raised):
        call(client)
    interrupt.join()
