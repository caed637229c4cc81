"""grpc.health.v1 as a test asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

SERVICE = "evenpack.v1.PackingService"
SERVING = "SERVING"
NOT_SERVING = "NOT_SERVING"


class Serves(Protocol):
    """A program that serves gRPC."""

    channel: grpc.Channel


def _stub(server: Serves) -> Any:  # noqa: ANN401
    # Its published types leave its methods out.
    return health_pb2_grpc.HealthStub(server.channel)


def _request(service: str) -> health_pb2.HealthCheckRequest:
    return health_pb2.HealthCheckRequest(service=service)


def _name(response: health_pb2.HealthCheckResponse) -> str:
    return health_pb2.HealthCheckResponse.ServingStatus.Name(response.status)


def check(server: Serves, service: str) -> str:
    """How the service is; empty for the whole server."""
    return _name(_stub(server).Check(_request(service)))


def watch(server: Serves, service: str) -> Iterator[str]:
    """How the service is, now and whenever that changes."""
    return map(_name, _stub(server).Watch(_request(service)))
