"""A server with TLS and roles, and callers who come with certificates and tokens."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from certificates import Certificates
from child_process import DEADLINE
from evenpack.v1 import cost_profile_pb2_grpc
from evenpack.v1 import packing_service_pb2_grpc as rpc
from google.protobuf.message import Message
from server_process import ServerProcess

STREAMS = ("Ingest", "StreamSteps", "JoinGroup")


def hash_of(token: str) -> str:
    """What a roles file has of it."""
    return hashlib.sha256(token.encode()).hexdigest()


@dataclass(frozen=True)
class Caller:
    """What a call brings: certificate and token, each may be missing."""

    certificate: str | None = None
    token: str | None = None


class CallerCertificates:
    """A folder of authorities and certificates that a test adds to."""

    def __init__(self, folder: Path) -> None:
        """Makes those of every test."""
        self.folder = folder
        self._made = Certificates(folder)

    def add(self, name: str, subject: str, alternatives: str = "") -> None:
        """One more of the authority `ca`, with its key, as NAME.pem and NAME.key."""
        request = self.folder / "added.csr"
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        run = ["openssl", "req", *key, "-keyout", f"{self.key(name)}"]
        subprocess.run(
            [*run, "-subj", subject, "-out", request], check=True, capture_output=True
        )
        extensions = self.folder / "added.ext"
        extensions.write_text(
            f"subjectAltName={alternatives}\n" if alternatives else ""
        )
        sign = ["openssl", "x509", "-req", "-in", f"{request}", "-days", "30"]
        authority = ["-CA", f"{self.pem('ca')}", "-CAkey", f"{self.key('ca')}"]
        made = ["-CAcreateserial", "-extfile", f"{extensions}"]
        subprocess.run(
            [*sign, *authority, *made, "-out", f"{self.pem(name)}"],
            check=True,
            capture_output=True,
        )

    def pem(self, name: str) -> Path:
        """A certificate."""
        return self._made.pem(name)

    def key(self, name: str) -> Path:
        """Its key."""
        return self._made.key(name)


def temporary_folder(enter: Callable[[Any], str]) -> Path:
    """A folder that goes with the context that `enter` enters."""
    return Path(enter(tempfile.TemporaryDirectory()))


def tls_flags(
    certificates: CallerCertificates, *, name: str = "server", clients: str = "request"
) -> list[str]:
    """Of a server with the certificate of that name, whose clients may have one."""
    return [
        "--tls-certificate",
        f"{certificates.pem(name)}",
        "--tls-key",
        f"{certificates.key(name)}",
        "--tls-client-ca",
        f"{certificates.pem('ca')}",
        "--tls-client-certificates",
        clients,
    ]


class Connections:
    """Connections to a server by the certificates that they show."""

    def __init__(self, server: ServerProcess, certificates: CallerCertificates) -> None:
        """None yet."""
        self._server = server
        self._certificates = certificates
        self._channels: dict[str | None, grpc.Channel] = {}

    def close(self) -> None:
        """Closes all."""
        for channel in self._channels.values():
            channel.close()

    def open(self, certificate: str | None, authority: str = "ca") -> grpc.Channel:
        """A new one, which trusts servers of that authority."""
        shown = {}
        if certificate is not None:
            shown["private_key"] = self._certificates.key(certificate).read_bytes()
            chain = self._certificates.pem(certificate).read_bytes()
            shown["certificate_chain"] = chain
        roots = self._certificates.pem(authority).read_bytes()
        credentials = grpc.ssl_channel_credentials(roots, **shown)
        # Channels of a process share connections that are alike.
        apart = [("grpc.use_local_subchannel_pool", 1)]
        return grpc.secure_channel(self._server.grpc_address, credentials, apart)

    def _channel(self, certificate: str | None) -> grpc.Channel:
        if certificate not in self._channels:
            self._channels[certificate] = self.open(certificate)
        return self._channels[certificate]

    def stub(self, caller: Caller, method: str) -> Any:  # noqa: ANN401
        """What calls the method of that name for this caller."""
        channel = self._channel(caller.certificate)
        of_jobs: object = rpc.PackingServiceStub(channel)
        of_profiles: object = cost_profile_pb2_grpc.CostProfileServiceStub(channel)
        return getattr(of_jobs, method, None) or getattr(of_profiles, method)

    def call(self, caller: Caller, method: str, request: Message) -> list[Message]:
        """The answers, of which a call that is no stream has one."""
        metadata = []
        if caller.token is not None:
            metadata.append(("authorization", f"Bearer {caller.token}"))
        options: Mapping[str, Any] = {"metadata": metadata, "timeout": DEADLINE}
        stub = self.stub(caller, method)
        if method in STREAMS:
            return list(stub(iter([request]), **options))
        return [stub(request, **options)]
