"""gRPC's reflection as a test asks for it."""

from __future__ import annotations

from typing import Any

import grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc


def services(channel: grpc.Channel) -> set[str]:
    """The names of the services that are listed there."""
    # Its published types leave its methods out.
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
    asked = reflection_pb2.ServerReflectionRequest(list_services="")
    (answer,) = stub.ServerReflectionInfo(iter([asked]))
    return {each.name for each in answer.list_services_response.service}
