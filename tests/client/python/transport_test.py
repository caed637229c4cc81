"""Tests of evenpack.transport, over real gRPC."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
import pytest
from evenpack.errors import FailedPreconditionError, InvalidArgumentError
from evenpack.transport import Transport, TransportOptions
from evenpack.v1.packing_service_pb2 import (
    GetJobRequest,
    IngestRequest,
    ListJobsRequest,
    ListJobsResponse,
    OpenIngest,
)
from server_process import ServerProcess

LIST_JOBS = "/evenpack.v1.PackingService/ListJobs"
GET_JOB = "/evenpack.v1.PackingService/GetJob"
NOT_FOUND = grpc.StatusCode.NOT_FOUND.value[0]
CANCELLED = grpc.StatusCode.CANCELLED.value[0]


@pytest.fixture
def transport(server: ServerProcess) -> Iterator[Transport]:
    """To a server of the test's own."""
    made = Transport(server.grpc_address)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("name", "value", "shown", "accepted"),
    [
        ("credentials", 1, "int", "a grpc.ChannelCredentials, or None"),
        ("channel_options", None, "None", "pairs of a name and a value"),
        ("channel_options", "x", "'x'", "pairs of a name and a value"),
    ],
)
def test_an_option_of_another_kind_names_its_field(
    name: str, value: object, shown: str, accepted: str
) -> None:
    """When the options are made."""
    fields: dict[str, Any] = {name: value}
    with pytest.raises(InvalidArgumentError) as caught:
        TransportOptions(**fields)
    assert str(caught.value) == (
        f"{name}: {shown} is not accepted; accepted: {accepted}"
    )


def test_a_channel_option_that_is_no_pair_is_named() -> None:
    options: Any = [("grpc.a", 1), 1]
    with pytest.raises(InvalidArgumentError) as caught:
        TransportOptions(channel_options=options)
    assert str(caught.value) == (
        "channel_options[1]: 1 is not accepted; accepted: pairs of a name and a value"
    )


def test_a_call_gives_the_answers_bytes(transport: Transport) -> None:
    """As they came."""
    call = transport.call(LIST_JOBS, ListJobsRequest().SerializeToString(), 10)
    status, answer = call.finish()
    assert status == (0, "", b"")
    assert list(ListJobsResponse.FromString(answer).jobs) == []


def test_an_error_has_its_code_message_and_details(transport: Transport) -> None:
    """The details as google.rpc's bytes."""
    request = GetJobRequest(name="none").SerializeToString()
    (code, message, details), answer = transport.call(GET_JOB, request, 10).finish()
    assert code == NOT_FOUND
    assert "none" in message
    assert b"google.rpc.ErrorInfo" in details
    assert answer == b""


def test_a_stream_that_the_server_refuses_ends_with_its_status(
    transport: Transport,
) -> None:
    """read() says that it ended, finish() how."""
    stream = transport.open("Ingest")
    opened = IngestRequest(open=OpenIngest(job="none", stream="text"))
    stream.write(opened.SerializeToString())
    assert stream.read() is None
    code, message, _ = stream.finish()
    assert code == NOT_FOUND
    assert "none" in message
    assert stream.read() is None


def test_a_cancelled_stream_lets_its_readers_and_writers_go(
    transport: Transport,
) -> None:
    """Whatever they wait for."""
    stream = transport.open("Ingest")
    waiting = [
        threading.Thread(target=stream.read),
        threading.Thread(target=stream.await_unsent_below, args=(1,)),
    ]
    for thread in waiting:
        thread.start()
    stream.cancel()
    for thread in waiting:
        thread.join(timeout=30)
        assert not thread.is_alive()
    assert stream.finish()[0] == CANCELLED
    stream.write(b"nothing happens")
    assert stream.unsent() == 0


def test_nothing_is_begun_in_a_fork(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would wait for threads that are not there."""
    monkeypatch.setattr("evenpack.transport._process", os.getpid() + 1)
    with pytest.raises(FailedPreconditionError, match="'spawn'"):
        transport.call(LIST_JOBS, b"", 10)
    with pytest.raises(FailedPreconditionError, match="'spawn'"):
        transport.open("Ingest")
    with pytest.raises(FailedPreconditionError, match="'spawn'"):
        Transport("127.0.0.1:1")


def _let_in(listener: socket.socket, address: str, busy: float) -> None:
    """Hands one connection on to a server, which is busy for so many seconds first."""
    near, _ = listener.accept()
    time.sleep(busy)
    host, _, port = address.rpartition(":")
    far = socket.create_connection((host, int(port)))

    def pass_on(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    back = threading.Thread(target=pass_on, args=(far, near))
    back.start()
    pass_on(near, far)
    back.join()
    near.close()
    far.close()


def test_a_server_that_takes_its_time_to_let_clients_in_is_reached(
    server: ServerProcess,
) -> None:
    """As one does that thousands connect to at once: gRPC's attempt goes on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        door = threading.Thread(
            target=_let_in, args=(listener, server.grpc_address, 1.5)
        )
        door.start()
        transport = Transport(f"127.0.0.1:{listener.getsockname()[1]}")
        call = transport.call(LIST_JOBS, ListJobsRequest().SerializeToString(), 10)
        status, _ = call.finish()
        transport.close()
        door.join()
    assert status == (0, "", b"")


def test_an_address_that_nobody_listens_on_is_unavailable() -> None:
    """At once, since the native client waits between attempts."""
    transport = Transport("127.0.0.1:1")
    (code, _, _), _ = transport.call(LIST_JOBS, b"", 10).finish()
    assert code == grpc.StatusCode.UNAVAILABLE.value[0]


class _Echo(grpc.GenericRpcHandler):
    """Answers each message with itself once `go` is set."""

    def __init__(self) -> None:
        self.go = threading.Event()

    def service(
        self, _: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[bytes, bytes]:
        """Whatever the method."""
        return grpc.stream_stream_rpc_method_handler(self._answer)

    def _answer(
        self, requests: Iterator[bytes], _: grpc.ServicerContext
    ) -> Iterator[bytes]:
        self.go.wait(30)
        yield from requests


@pytest.fixture
def echo() -> Iterator[tuple[_Echo, str]]:
    """A server that echoes, and its address."""
    handler = _Echo()
    server = grpc.server(futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers((handler,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield handler, f"127.0.0.1:{port}"
    server.stop(None).wait()


def test_messages_arrive_in_order_and_the_stream_ends_after_the_last(
    echo: tuple[_Echo, str],
) -> None:
    """Those that were queued before it could be sent, too."""
    handler, address = echo
    stream = Transport(address).open("Ingest")
    messages = [b"%d" % i for i in range(200)]
    for message in messages:
        stream.write(message)
    stream.writes_done()
    handler.go.set()
    stream.await_unsent_below(1)
    assert stream.unsent() == 0
    assert list(iter(stream.read, None)) == messages
    assert stream.finish() == (0, "", b"")


def test_a_message_over_the_limit_is_refused(echo: tuple[_Echo, str]) -> None:
    """Rather than fill the memory."""
    handler, address = echo
    handler.go.set()
    options = TransportOptions(max_message_bytes=1000)
    stream = Transport(address, options).open("Ingest")
    stream.write(bytes(2000))
    assert stream.read() is None
    assert stream.finish()[0] == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"keepalive_seconds": 1}, r"keepalive_seconds: 1 .*: 10 to 1e\+06"),
        ({"keepalive_timeout_seconds": 0}, "keepalive_timeout_seconds: 0 .*: 0.001 to"),
        ({"max_message_bytes": -1}, "max_message_bytes: -1 .*: 1 to 2147483647"),
        ({"max_message_bytes": 1 << 31}, "max_message_bytes: 2147483648"),
    ],
)
def test_a_number_that_cannot_be_names_its_field(
    arguments: dict[str, Any], named: str
) -> None:
    """When the options are made."""
    with pytest.raises(InvalidArgumentError, match=named):
        TransportOptions(**arguments)
