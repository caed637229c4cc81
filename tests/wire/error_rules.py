"""What an error may say: docs/api.md."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from call_error import CallError, error_of_status
from google.protobuf.message import DecodeError
from google.rpc import code_pb2, status_pb2

_ROW = re.compile(r"\| `([A-Z_]+)` \| `([A-Z_]+)` \|")
# The code's own name is the reason of these.
_PLAIN = {"INVALID_ARGUMENT", "OUT_OF_RANGE", "FAILED_PRECONDITION", "DATA_LOSS"}
# gRPC's own, which have no details, and a part of their message.
_OF_GRPC = (
    ("UNIMPLEMENTED", ""),
    ("RESOURCE_EXHAUSTED", "larger than max"),
    ("RESOURCE_EXHAUSTED", "max header list size"),
    ("RESOURCE_EXHAUSTED", "max metadata size"),
    ("RESOURCE_EXHAUSTED", "metadata size exceeds limit"),
    ("CANCELLED", ""),
)
# Also what gRPC says of a handler that threw.
_EXCEPTION = re.compile(
    r"exception|what\(\)|std::|terminate|Unexpected error in RPC", re.IGNORECASE
)


@cache
def reasons() -> dict[str, str]:
    """The code of each reason."""
    page = Path(os.environ["EVENPACK_SOURCE_DIR"]) / "docs/api.md"
    rows = map(_ROW.match, page.read_text(encoding="utf-8").splitlines())
    return {row[1]: row[2] for row in rows if row is not None}


def complaint(error: CallError, also: tuple[str, ...] = ()) -> str | None:
    """What is wrong with an error; None where nothing is.

    Codes that `also` names may come without details.
    """
    if _EXCEPTION.search(error.message):
        return f"an exception's text: {error}"
    if not error.reason:
        known = any(
            error.code == code and part in error.message for code, part in _OF_GRPC
        )
        return None if known or error.code in also else f"no details: {error}"
    known_code = reasons().get(error.reason)
    if known_code is None and error.reason in _PLAIN:
        known_code = error.reason
    if error.domain != "evenpack" or known_code != error.code:
        return f"a reason that docs/api.md has not: {error}"
    if error.code == "INVALID_ARGUMENT" and not error.refused_fields:
        return f"no BadRequest: {error}"
    if error.code == "UNAVAILABLE" and error.retry_seconds is None:
        return f"no RetryInfo: {error}"
    if error.code == "RESOURCE_EXHAUSTED" and not error.quota_subjects:
        return f"no QuotaFailure: {error}"
    return None


def error_of_trailers(code: int, message: str, details: bytes | None) -> CallError:
    """The error of a call's trailing header fields."""
    if details is not None:
        try:
            return error_of_status(status_pb2.Status.FromString(details))
        except DecodeError:
            return CallError("UNKNOWN", f"details that are none: {details!r}")
    name = code_pb2.Code.Name(code) if code in code_pb2.Code.values() else f"{code}"
    return CallError(name, message)
