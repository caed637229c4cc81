"""A job that moves between the servers of a real database while Python follows it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import example_jobs
import pytest
from child_process import wait_until
from evenpack import Client, PackedDataset, ServerOptions
from postgresql_server import PostgresqlServer
from server_process import ServerProcess

DOCUMENTS = example_jobs.lengths(3000)


@pytest.fixture
def servers() -> Iterator[list[ServerProcess]]:
    """Three that share a database."""
    with PostgresqlServer(durable=False) as database:
        database.start()
        target = database.target()
        started = [ServerProcess("--store", target) for _ in range(3)]
        try:
            yield started
        finally:
            for server in started:
                server.__exit__(None, None, None)


def _leader(servers: list[ServerProcess]) -> ServerProcess:
    """The one that leads the only job."""

    def leading() -> list[ServerProcess]:
        running = [server for server in servers if server.runs()]
        return [server for server in running if server.metric("evenpack_jobs") == 1]

    return wait_until(leading, "a leader")[0]


def test_what_python_has_open_goes_on_at_the_next_leader(
    servers: list[ServerProcess],
) -> None:
    """Each step once, as if nothing had been; whoever is asked knows one server."""
    local = PackedDataset(spec=example_jobs.spec(), lengths=DOCUMENTS)
    expected = [step.digest for step in local]
    addresses = ",".join(server.grpc_address for server in servers)
    client = Client(addresses)
    client.create_job("run", example_jobs.spec())
    producer = client.producer("run", "text")
    producer.add(DOCUMENTS[:1500])
    # Few steps ahead, so that most come from the servers that the job moves to.
    options = ServerOptions(credits=1, max_buffered_bytes=1)
    dataset = PackedDataset(addresses, job="run", options=options)
    steps = iter(dataset)
    digests = [step.digest for step in islice(steps, 3)]
    # In order, and killed.
    first = _leader(servers)
    assert first.terminate() == 0
    producer.add(DOCUMENTS[1500:])
    producer.end_of_stream()
    digests += [step.digest for step in islice(steps, 3)]
    dataset.ack_durable()
    _leader(servers).kill()
    digests += [step.digest for step in steps]
    dataset.ack_durable()
    dataset.close()
    assert digests == expected
    [job] = client.list_jobs()
    assert job.durable_steps_per_rank[0] == len(expected)
    assert job.streams[0].next_sequence == len(DOCUMENTS)


def test_any_server_tells_of_all_jobs(servers: list[ServerProcess]) -> None:
    """Whoever leads them."""
    names = [f"job-{i}" for i in range(6)]
    for name in names:
        Client(servers[0].grpc_address).create_job(name, example_jobs.spec())

    def are_spread() -> bool:
        return all(server.metric("evenpack_jobs") == 2 for server in servers)

    wait_until(are_spread, "two jobs each")
    for server in servers:
        client = Client(server.grpc_address)
        assert [job.name for job in client.list_jobs()] == names
        for name in names:
            assert client.update_job(name, example_jobs.spec()).name == name
