"""Tests of evenpack.secured_channel, by a Client and real gRPC."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent import futures
from pathlib import Path

import grpc
import pytest
from certificates import Certificates
from evenpack import Client, Security
from evenpack.errors import UnauthenticatedError, UnavailableError
from evenpack.transport import Transport
from evenpack.v1.job_pb2 import Job
from evenpack.v1.packing_service_pb2 import GetJobResponse

GET_JOB = "/evenpack.v1.PackingService/GetJob"
OK = grpc.StatusCode.OK.value[0]
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE.value[0]


class _Server(grpc.GenericRpcHandler):
    """Answers GetJob with the client's common name, Ingest with what it gets.

    Notes each call's authorization.
    """

    def __init__(self) -> None:
        self.authorizations: list[str] = []
        self.port = 0
        self._server: grpc.Server | None = None

    def service(
        self, details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[bytes, bytes]:
        """Whatever the method."""
        self.authorizations += [
            str(value)
            for key, value in details.invocation_metadata
            if key == "authorization"
        ]
        if details.method.endswith("StreamSteps"):
            return grpc.stream_stream_rpc_method_handler(lambda *_: iter((b"",)))
        if details.method.endswith("Ingest"):
            return grpc.stream_stream_rpc_method_handler(lambda messages, _: messages)
        return grpc.unary_unary_rpc_method_handler(self._get_job)

    def _get_job(self, _: bytes, context: grpc.ServicerContext) -> bytes:
        name = context.auth_context().get("x509_common_name", [b""])[0]
        assert isinstance(name, bytes)
        return GetJobResponse(job=Job(name=name.decode())).SerializeToString()

    def serve(self, credentials: grpc.ServerCredentials | None) -> str:
        """At the port of the time before, if there was one; its address."""
        self.stop()
        self._server = grpc.server(futures.ThreadPoolExecutor(2))
        self._server.add_generic_rpc_handlers((self,))
        address = f"127.0.0.1:{self.port}"
        if credentials is None:
            self.port = self._server.add_insecure_port(address)
        else:
            self.port = self._server.add_secure_port(address, credentials)
        self._server.start()
        return f"127.0.0.1:{self.port}"

    def stop(self) -> None:
        """Cuts all connections."""
        if self._server is not None:
            self._server.stop(None).wait()


@pytest.fixture
def server() -> Iterator[_Server]:
    """That serves once a test says how."""
    made = _Server()
    yield made
    made.stop()


def _tls(
    certificates: Certificates, name: str, *, asks_for_clients: bool = False
) -> grpc.ServerCredentials:
    pair = (certificates.key(name).read_bytes(), certificates.pem(name).read_bytes())
    roots = certificates.pem("ca").read_bytes() if asks_for_clients else None
    return grpc.ssl_server_credentials([pair], roots, asks_for_clients)


def _as(certificates: Certificates, name: str) -> Security:
    return Security(
        ca=certificates.pem("ca"),
        certificate=certificates.pem(name),
        key=certificates.key(name),
    )


def test_each_end_sees_the_others_certificate(
    server: _Server, certificates: Certificates
) -> None:
    """And the server another name, where that is asked for."""
    address = server.serve(_tls(certificates, "server", asks_for_clients=True))
    security = _as(certificates, "client")
    assert Client(address, security=security).get_job("run").name == "client"
    address = server.serve(_tls(certificates, "named"))
    security = Security(ca=certificates.pem("ca"), server_name="packer.example")
    Client(address, security=security).get_job("run")


@pytest.mark.parametrize(
    ("name", "authority", "cause"),
    [
        ("server", "other_ca", "none of the authorities"),
        ("server", None, "none of the authorities"),
        ("expired", "ca", "out of date"),
        ("named", "ca", "another name"),
        (None, "ca", "speaks no TLS"),
    ],
)
def test_a_server_that_is_not_accepted_ends_the_first_call_at_once(
    server: _Server,
    certificates: Certificates,
    name: str | None,
    authority: str | None,
    cause: str,
) -> None:
    """However patient the client is."""
    address = server.serve(None if name is None else _tls(certificates, name))
    ca = None if authority is None else certificates.pem(authority)
    with pytest.raises(UnauthenticatedError, match=cause):
        Client(address, security=Security(ca=ca, tls=True)).get_job("run")


def test_a_client_that_is_not_accepted_is_told_what_may_be_wanted(
    server: _Server, certificates: Certificates
) -> None:
    """Which it can't know, since the server just closes the connection."""
    address = server.serve(_tls(certificates, "server", asks_for_clients=True))
    for security in (
        Security(),
        Security(ca=certificates.pem("ca")),
        _as(certificates, "stranger"),
        _as(certificates, "expired_client"),
    ):
        client = Client(address, security=security, patience_seconds=0)
        with pytest.raises(UnavailableError, match=r"may want TLS, a client certif"):
            client.get_job("run")


def test_a_server_that_answered_once_may_renew_its_certificate(
    server: _Server, certificates: Certificates
) -> None:
    """It is tried again meanwhile."""
    address = server.serve(_tls(certificates, "server"))
    security = Security(ca=certificates.pem("ca"))
    client = Client(address, security=security, patience_seconds=0.5)
    client.get_job("run")
    server.serve(_tls(certificates, "expired"))
    with pytest.raises(UnavailableError, match="out of date"):
        client.get_job("run")
    server.serve(_tls(certificates, "server"))
    client.get_job("run")


def test_files_that_change_are_used_by_the_next_call(
    server: _Server, certificates: Certificates, tmp_path: Path
) -> None:
    """Calls that began before go on."""
    ca, certificate, key = (tmp_path / name for name in ("ca", "pem", "key"))

    def renew(authority: str, client: str) -> None:
        for file, source in (
            (ca, certificates.pem(authority)),
            (certificate, certificates.pem(client)),
            (key, certificates.key(client)),
        ):
            made = tmp_path / "new"
            made.write_bytes(source.read_bytes())
            made.rename(file)

    renew("ca", "client")
    address = server.serve(_tls(certificates, "server", asks_for_clients=True))
    security = Security(ca=ca, certificate=certificate, key=key)
    transport = Transport(address, security=security)

    def code() -> int:
        (code, _, _), _ = transport.call(GET_JOB, b"", 10).finish()
        return code

    stream = transport.open("Ingest")
    assert code() == OK
    renew("ca", "stranger")
    assert code() == UNAVAILABLE
    renew("ca", "client")
    assert code() == OK
    ca.unlink()
    assert code() == OK
    renew("other_ca", "client")
    assert code() == UNAVAILABLE
    stream.write(b"as before")
    assert stream.read() == b"as before"
    transport.close()
    assert stream.read() is None


def test_every_call_has_the_token_that_the_file_has_then(
    server: _Server, certificates: Certificates, tmp_path: Path
) -> None:
    """Or had last, while it has none."""
    address = server.serve(_tls(certificates, "server"))
    token = tmp_path / "token"
    token.write_text("first\n")
    security = Security(ca=certificates.pem("ca"), token_file=token)
    client = Client(address, security=security)
    client.get_job("run")
    token.write_text("second\n")
    client.get_job("run")
    token.write_text("")
    client.get_job("run")
    expected = ["Bearer first", "Bearer second", "Bearer second"]
    assert server.authorizations == expected


def test_without_tls_a_token_goes_to_this_machine(
    server: _Server, tmp_path: Path
) -> None:
    """Streams have it too."""
    address = server.serve(None)
    token = tmp_path / "token"
    token.write_text("secret")
    security = Security(token_file=token)
    Client(address, security=security).get_job("run")
    stream = Transport(address, security=security).open("StreamSteps")
    assert stream.read() == b""
    assert server.authorizations == ["Bearer secret"] * 2


def test_errors_do_not_show_the_token(
    server: _Server, certificates: Certificates, tmp_path: Path
) -> None:
    """Whatever they are."""
    address = server.serve(_tls(certificates, "server"))
    token = tmp_path / "token"
    token.write_text("secret")
    security = Security(ca=certificates.pem("other_ca"), token_file=token)
    assert "secret" not in repr(security)
    with pytest.raises(UnauthenticatedError) as refused:
        Client(address, security=security).get_job("run")
    assert "secret" not in str(refused.value)
