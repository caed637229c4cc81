"""Who comes to a server with TLS and roles, and how it is reached."""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import grpc
from certificates import Certificates
from deadline_channel import open_channel
from evenpack.v1 import packing_service_pb2_grpc as rpc
from server_process import ServerProcess

# Of whom it is, with the role of that name. Servers without roles look at none.
TOKENS = {role: f"storm-{role}" for role in ("operator", "producer", "consumer")}
OPERATOR = ("authorization", f"Bearer {TOKENS['operator']}")
# Jobs for which they have their roles.
_JOBS = {"operator": "*", "producer": "storm-0", "consumer": "storm-?"}


@dataclass(frozen=True)
class Target:
    """Where a server listens; with an authority's certificate where it has TLS."""

    grpc: str
    http: str
    authority: Path | None = None


@cache
def tls_context(authority: Path) -> ssl.SSLContext:
    """Of connections that show no certificate."""
    context = ssl.create_default_context(cafile=f"{authority}")
    context.set_alpn_protocols(["h2"])
    return context


def channel_credentials(authority: Path) -> grpc.ChannelCredentials:
    """Of connections that show no certificate, and calls that show what they like."""
    return grpc.ssl_channel_credentials(authority.read_bytes())


def operator_credentials(authority: Path) -> grpc.ChannelCredentials:
    """Of connections whose calls may do everything."""
    token = grpc.access_token_call_credentials(TOKENS["operator"])
    channel = channel_credentials(authority)
    return grpc.composite_channel_credentials(channel, token)


def _roles() -> str:
    lines = ["grants:"]
    for role, token in TOKENS.items():
        digest = hashlib.sha256(token.encode()).hexdigest()
        lines.append(f"  - role: {role}")
        lines.append(f'    jobs: ["{_JOBS[role]}"]')
        lines.append(f'    tokens: ["{role}:{digest}"]')
    return "\n".join([*lines, ""])


def security_flags(folder: Path) -> list[str]:
    """Of a server with TLS and roles, for which it makes what is needed."""
    made = Certificates(folder)
    roles = folder / "roles.yaml"
    roles.write_text(_roles())
    return [
        *("--tls-certificate", f"{made.pem('server')}"),
        *("--tls-key", f"{made.key('server')}"),
        *("--tls-client-ca", f"{made.pem('ca')}"),
        *("--tls-client-certificates", "request"),
        *("--roles", f"{roles}"),
    ]


class StormServer(ServerProcess):
    """A server that its test reaches as an operator, with TLS and roles or without."""

    def __init__(self, flags: Sequence[str], secured: Path | None) -> None:
        """`secured`: a folder, where it has TLS and roles."""
        more = [] if secured is None else security_flags(secured)
        super().__init__(*flags, *more)
        self.authority = None if secured is None else secured / "ca.pem"
        if self.authority is not None:
            self.channel.close()
            credentials = operator_credentials(self.authority)
            self.channel = open_channel(self.grpc_address, credentials=credentials)
            self.stub = rpc.PackingServiceStub(self.channel)

    @property
    def target(self) -> Target:
        """Where it listens."""
        return Target(self.grpc_address, self.http_address, self.authority)
