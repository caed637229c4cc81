"""Tests of evenpack.errors."""

from __future__ import annotations

import pickle

import grpc
import pytest
from evenpack import errors


@pytest.mark.parametrize(
    ("code", "kind", "builtin"),
    [
        (grpc.StatusCode.INVALID_ARGUMENT, errors.InvalidArgumentError, ValueError),
        (grpc.StatusCode.DEADLINE_EXCEEDED, errors.DeadlineExceededError, TimeoutError),
        (grpc.StatusCode.NOT_FOUND, errors.NotFoundError, LookupError),
        (grpc.StatusCode.ALREADY_EXISTS, errors.AlreadyExistsError, Exception),
        (grpc.StatusCode.ABORTED, errors.AbortedError, Exception),
        (grpc.StatusCode.OUT_OF_RANGE, errors.OutOfRangeError, IndexError),
        (grpc.StatusCode.UNIMPLEMENTED, errors.UnimplementedError, NotImplementedError),
        (grpc.StatusCode.UNAVAILABLE, errors.UnavailableError, ConnectionError),
        (grpc.StatusCode.DATA_LOSS, errors.DataLossError, Exception),
    ],
)
def test_a_code_is_a_class_and_the_nearest_builtin(
    code: grpc.StatusCode, kind: type[errors.EvenpackError], builtin: type[Exception]
) -> None:
    """Callers catch by class, or as they would elsewhere."""
    error = errors.from_status(code.value[0], "window: 0")
    assert type(error) is kind
    assert isinstance(error, builtin)
    assert error.code == code.value[0]
    assert str(error) == "window: 0"


def test_every_code_of_grpc_but_success_is_an_error_of_its_code() -> None:
    """None falls through to a class of another code."""
    for code in grpc.StatusCode:
        if code not in (grpc.StatusCode.OK, grpc.StatusCode.UNKNOWN):
            assert errors.from_status(code.value[0], "").code == code.value[0], code


def test_a_code_without_a_class_is_the_base() -> None:
    """A later version of gRPC may have more."""
    assert type(errors.from_status(99, "new")) is errors.EvenpackError


def test_what_an_error_says_survives_pickling() -> None:
    """It comes out of a DataLoader's worker or over a broadcast."""
    error = errors.from_status(
        10, "taken", "CLAIM_TAKEN", {"subscriber": "a"}, [("job", "gone")]
    )
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is errors.AbortedError
    assert (copy.message, copy.reason) == ("taken", "CLAIM_TAKEN")
    assert copy.metadata == {"subscriber": "a"}
    assert copy.fields == [("job", "gone")]
