"""What an error of the service says: its code, its message, its details."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import grpc
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status


@dataclass(frozen=True)
class CallError:
    """google.rpc.Status with its details taken apart; what is absent is empty."""

    code: str
    message: str
    reason: str = ""
    domain: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    # Of BadRequest.
    refused_fields: tuple[str, ...] = ()
    # Of RetryInfo.
    retry_seconds: float | None = None
    # Of QuotaFailure.
    quota_subjects: tuple[str, ...] = ()


def error_of_status(status: status_pb2.Status) -> CallError:
    """The error that a google.rpc.Status describes."""

    def unpack(message: Message) -> bool:
        return any(detail.Unpack(message) for detail in status.details)

    info = error_details_pb2.ErrorInfo()
    refused = error_details_pb2.BadRequest()
    retry = error_details_pb2.RetryInfo()
    quota = error_details_pb2.QuotaFailure()
    for message in (info, refused, quota):
        unpack(message)
    delay = retry.retry_delay if unpack(retry) else None
    return CallError(
        code=code_pb2.Code.Name(status.code),
        message=status.message,
        reason=info.reason,
        domain=info.domain,
        metadata=dict(info.metadata),
        refused_fields=tuple(at.field for at in refused.field_violations),
        retry_seconds=None if delay is None else delay.seconds + delay.nanos / 1e9,
        quota_subjects=tuple(at.subject for at in quota.violations),
    )


def status_of(error: grpc.RpcError) -> status_pb2.Status:
    """The status of an ended call; one without details comes from gRPC itself."""
    # Of a channel's calls, every RpcError is a Call too.
    call = cast(grpc.Call, error)
    status = rpc_status.from_call(call)
    if status is None:
        status = status_pb2.Status(code=call.code().value[0], message=call.details())
    return cast(status_pb2.Status, status)


def error_of(error: grpc.RpcError) -> CallError:
    """The error of a call that was refused or ended."""
    return error_of_status(status_of(error))
