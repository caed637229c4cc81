"""A client whose jobs are led by one or another of several servers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from certificates import Certificates
from evenpack import Client, Security
from evenpack.errors import InternalError, InvalidArgumentError, UnavailableError
from evenpack.v1 import packing_service_pb2 as api
from evenpack.v1.job_pb2 import Job
from scripted_server import ScriptedServer, led_elsewhere, no_leader

# Nobody listens there.
DEAD = ("127.0.0.1:1", "127.0.0.1:2")


@pytest.fixture
def first() -> Iterator[ScriptedServer]:
    """A server."""
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def second() -> Iterator[ScriptedServer]:
    """Another."""
    with ScriptedServer() as server:
        yield server


def _holds(request: api.GetJobRequest, _: grpc.ServicerContext) -> api.GetJobResponse:
    return api.GetJobResponse(job=Job(name=request.name))


def _redirects_to(server: ScriptedServer, other: ScriptedServer) -> None:
    server.get_job = lambda _, context: led_elsewhere(context, other.address)


def test_a_call_follows_and_the_next_goes_there(
    first: ScriptedServer, second: ScriptedServer
) -> None:
    """At once."""
    _redirects_to(first, second)
    second.get_job = _holds
    client = Client(first.address)
    assert [client.get_job("run").name for _ in range(3)] == ["run"] * 3
    assert (len(first.calls), len(second.calls)) == (1, 3)


def test_servers_that_name_each_other_are_both_named(
    first: ScriptedServer, second: ScriptedServer
) -> None:
    """Once patience is up."""
    _redirects_to(first, second)
    _redirects_to(second, first)
    start = time.monotonic()
    with pytest.raises(UnavailableError) as caught:
        Client(first.address, patience_seconds=0.5).get_job("run")
    assert time.monotonic() - start >= 0.5
    assert first.address in str(caught.value)
    assert second.address in str(caught.value)


def test_a_job_without_a_leader_is_asked_for_at_another_server(
    first: ScriptedServer, second: ScriptedServer
) -> None:
    """After the wait that the first asks for."""
    first.get_job = lambda _, context: no_leader(context)
    second.get_job = _holds
    start = time.monotonic()
    Client(f"{first.address},{second.address}").get_job("run")
    assert time.monotonic() - start >= 0.2
    assert (len(first.calls), len(second.calls)) == (1, 1)


def test_two_of_three_servers_may_be_gone(first: ScriptedServer) -> None:
    """Which is no error."""
    first.get_job = _holds
    client = Client(",".join([*DEAD, first.address]), patience_seconds=0)
    assert client.get_job("run").name == "run"


def test_a_dead_leader_is_asked_for_at_the_given_server(
    first: ScriptedServer, second: ScriptedServer
) -> None:
    """Until there is another."""
    client = Client(first.address)
    _redirects_to(first, second)
    second.get_job = _holds
    client.get_job("run")
    second.stop()
    first.get_job = _holds
    assert client.get_job("run").name == "run"
    assert first.calls == ["GetJob"] * 2


def test_a_stream_that_moves_has_each_document_once(
    first: ScriptedServer, second: ScriptedServer
) -> None:
    """The new leader is sent what the old one had not taken."""
    taken: list[int] = []

    def take(count: int, requests: Iterator[api.IngestRequest]) -> Iterator[int]:
        """What is next, to begin with and after each batch, while fewer are taken."""
        assert next(requests).open.job == "run"
        yield len(taken)
        while len(taken) < count:
            batch = next(requests).batch
            assert batch.first_sequence == len(taken)
            taken.extend(batch.length)
            yield len(taken)

    def moves(
        requests: Iterator[api.IngestRequest], context: grpc.ServicerContext
    ) -> Iterator[api.IngestResponse]:
        for sequence in take(3, requests):
            yield api.IngestResponse(next_sequence=sequence)
        led_elsewhere(context, second.address)

    def stays(
        requests: Iterator[api.IngestRequest], _: grpc.ServicerContext
    ) -> Iterator[api.IngestResponse]:
        for sequence in take(8, requests):
            yield api.IngestResponse(next_sequence=sequence)

    first.ingest, second.ingest = moves, stays
    with Client(first.address).producer("run", "text") as producer:
        producer.add([1, 2, 3])
        producer.flush()
        producer.add([4, 5, 6, 7, 8])
        producer.flush()
    assert taken == [1, 2, 3, 4, 5, 6, 7, 8]
    assert (first.calls, second.calls) == (["Ingest"], ["Ingest"])


def test_a_list_has_the_jobs_of_all_servers_or_says_which_are_missing(
    first: ScriptedServer, second: ScriptedServer
) -> None:
    """By name."""
    first.list_jobs = lambda _, __: api.ListJobsResponse(
        jobs=[Job(name="b")],
        led_elsewhere=[
            api.JobPlace(name=name, address=second.address) for name in ("a", "c")
        ],
    )
    first.get_job = lambda _, context: no_leader(context)
    second.get_job = _holds
    client = Client(first.address, patience_seconds=0)
    assert [job.name for job in client.list_jobs()] == ["a", "b", "c"]
    second.stop()
    with pytest.raises(UnavailableError, match=f"a: led by {second.address}.*; c: led"):
        client.list_jobs()


def test_a_server_that_another_names_is_reached_with_the_same_security(
    certificates: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the environment said when the client was made."""
    pair = (certificates.key("server"), certificates.pem("server"))
    credentials = grpc.ssl_server_credentials(
        [(pair[0].read_bytes(), pair[1].read_bytes())]
    )
    token = tmp_path / "token"
    token.write_text("secret\n")
    with ScriptedServer(credentials) as first, ScriptedServer(credentials) as second:
        _redirects_to(first, second)
        second.get_job = _holds
        monkeypatch.setenv("EVENPACK_TLS_CA", str(certificates.pem("ca")))
        monkeypatch.setenv("EVENPACK_TOKEN_FILE", str(token))
        client = Client(first.address)
        monkeypatch.delenv("EVENPACK_TLS_CA")
        monkeypatch.delenv("EVENPACK_TOKEN_FILE")
        assert client.get_job("run").name == "run"
        assert first.tokens == second.tokens == ["Bearer secret"]


def test_a_token_in_the_clear_goes_to_no_other_machine(
    first: ScriptedServer, tmp_path: Path
) -> None:
    """Whoever names it."""
    token = tmp_path / "token"
    token.write_text("secret\n")
    first.get_job = lambda _, context: led_elsewhere(context, "192.0.2.1:1")
    client = Client(first.address, security=Security(token_file=token))
    with pytest.raises(InternalError, match=r"security.token_file.*'192.0.2.1:1'"):
        client.get_job("run")


@pytest.mark.parametrize("address", ["", "a:1,", "a:1,,b:1", "a:1,a:1"])
def test_addresses_that_are_empty_or_there_twice_are_refused(address: str) -> None:
    """By name."""
    with pytest.raises(InvalidArgumentError, match=f"address: '{address}'"):
        Client(address)
