"""Tables of calls that must be refused, and the comparison with what came."""

from __future__ import annotations

import re
import unittest
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import grpc
from call_error import CallError, error_of
from google.protobuf.message import Message

# What RetryInfo says with UNAVAILABLE.
RETRY_SECONDS = 0.5


@dataclass(frozen=True)
class Refusal:
    """How a call must be refused; `field` is the path that BadRequest names."""

    code: str
    # Parts of the message.
    says: tuple[str, ...] = ()
    # The code's name where it is empty.
    reason: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    field: str = ""
    quota: str = ""


def out_of_field(path: str, value: object, accepted: str) -> Refusal:
    """INVALID_ARGUMENT that names a field, its value and what would be accepted."""
    says = (f"{path}: {value} is not accepted; accepted: ", accepted)
    return Refusal("INVALID_ARGUMENT", says, field=path)


def no_such_job(name: str) -> Refusal:
    """NOT_FOUND of a job."""
    says = (f"job: '{name}' is not known",)
    return Refusal("NOT_FOUND", says, "JOB_NOT_FOUND", {"job": name})


def resolves(path: str, root: type[Message]) -> bool:
    """True if a path such as `spec.streams[2].name` leads to a field of a message."""
    message = root.DESCRIPTOR
    names = path.split(".")
    for i, name in enumerate(names):
        element = re.fullmatch(r"(\w+)(\[\d+\])?", name)
        if element is None:
            return False
        if element[1] in message.oneofs_by_name:
            return i == len(names) - 1
        found = message.fields_by_name.get(element[1])
        if found is None or (element[2] and not found.is_repeated):
            return False
        if i == len(names) - 1:
            return True
        if found.message_type is None:
            return False
        message = found.message_type
    return False


class RefusalTest(unittest.TestCase):
    """A test with calls that must be refused."""

    def refused(self, call: Callable[[], object]) -> CallError:
        """The error of a call, which must not succeed."""
        with self.assertRaises(grpc.RpcError) as caught:
            call()
        return error_of(caught.exception)

    def check(
        self, error: CallError, expected: Refusal, request: type[Message]
    ) -> None:
        """The error is the one expected, in every detail."""
        self.assertEqual(error.code, expected.code, error.message)
        for part in expected.says:
            self.assertIn(part, error.message)
        self.assertEqual(error.domain, "evenpack")
        self.assertEqual(error.reason, expected.reason or expected.code)
        self.assertEqual(error.metadata, expected.metadata)
        fields = (expected.field,) if expected.field else ()
        self.assertEqual(error.refused_fields, fields)
        for path in fields:
            self.assertTrue(resolves(path, request), path)
        quota = (expected.quota,) if expected.quota else ()
        self.assertEqual(error.quota_subjects, quota)
        retry = RETRY_SECONDS if expected.code == "UNAVAILABLE" else None
        self.assertEqual(error.retry_seconds, retry)
