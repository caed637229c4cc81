"""What goes wrong, by the codes that gRPC has for it.

Every error is an `EvenpackError`; each code is a class of its own, which also is a
built-in exception where one comes near. Messages name the field, the value and what
would be accepted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

# Begins the last line of a text that says all of an error.
_REST = "\nevenpack: "


class EvenpackError(Exception):
    """What the engine, the client or the server refused.

    Attributes:
        code: gRPC's number for it, of the class that it is.
        message: what was wrong, in words.
        reason: the error's name, constant across versions (`CLAIM_TAKEN`,
            `EPOCH_ENDED`, ...); empty where it is not the server's.
        metadata: what the server says of it by name.
        fields: (field, what is wrong with it) of a request that was refused.
    """

    code: int = 2

    def __init__(
        self,
        message: str,
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        fields: Sequence[tuple[str, str]] = (),
    ) -> None:
        """As the attributes have it, or a text of `say_all` that is given alone."""
        super().__init__(message)
        self.message = message
        if not (reason or metadata or fields):
            reason, metadata, fields = _rest_of(message)
        self.reason = reason
        self.metadata = dict(metadata or {})
        self.fields = list(fields)

    def say_all(self) -> None:
        """Has the text say what else the error does.

        Of an error of a DataLoader's worker the trainer gets another one that PyTorch
        makes, of its class and of nothing but its traceback as text.
        """
        if self.reason or self.metadata or self.fields:
            rest = json.dumps([self.reason, self.metadata, self.fields])
            self.args = (self.message + _REST + rest,)

    def __reduce__(self) -> tuple[object, ...]:
        """For pickle: with all that it says."""
        state = (self.message, self.reason, self.metadata, self.fields)
        return type(self), state


def _rest_of(
    text: str,
) -> tuple[str, Mapping[str, str], Sequence[tuple[str, str]]]:
    """Reason, metadata and fields that a text says; none where it doesn't."""
    _, found, rest = text.rpartition(_REST)
    if found:
        try:
            reason, metadata, fields = json.loads(rest.partition("\n")[0])
            return str(reason), dict(metadata), [(str(f), str(w)) for f, w in fields]
        except (TypeError, ValueError):  # a text of another's that begins so
            pass
    return "", {}, []


class CancelledError(EvenpackError):
    """The dataset or the client was closed meanwhile."""

    code = 1


class InvalidArgumentError(EvenpackError, ValueError):
    """A value that can't be; `fields` says which."""

    code = 3


class DeadlineExceededError(EvenpackError, TimeoutError):
    """No answer in time."""

    code = 4


class NotFoundError(EvenpackError, LookupError):
    """No such job, stream, step or profile."""

    code = 5


class AlreadyExistsError(EvenpackError):
    """A job of that name is there already."""

    code = 6


class PermissionDeniedError(EvenpackError, PermissionError):
    """The server doesn't let this client do that."""

    code = 7


class ResourceExhaustedError(EvenpackError):
    """A bound was reached; the message says which."""

    code = 8


class FailedPreconditionError(EvenpackError):
    """Not in the state that the job is in."""

    code = 9


class AbortedError(EvenpackError):
    """The rank was taken over (`CLAIM_TAKEN`) or the job reshaped (`EPOCH_ENDED`)."""

    code = 10


class OutOfRangeError(EvenpackError, IndexError):
    """A step that was let go, or that won't come."""

    code = 11


class UnimplementedError(EvenpackError, NotImplementedError):
    """The server doesn't have that."""

    code = 12


class InternalError(EvenpackError):
    """A mistake in this library or the server."""

    code = 13


class UnavailableError(EvenpackError, ConnectionError):
    """The server can't be reached, for as long as was to be tried."""

    code = 14


class DataLossError(EvenpackError):
    """A digest differs: what came is not what was decided, or of another history."""

    code = 15


class UnauthenticatedError(EvenpackError, PermissionError):
    """The server doesn't know this client."""

    code = 16


_CLASSES: dict[int, type[EvenpackError]] = {
    kind.code: kind
    for kind in (
        CancelledError,
        InvalidArgumentError,
        DeadlineExceededError,
        NotFoundError,
        AlreadyExistsError,
        PermissionDeniedError,
        ResourceExhaustedError,
        FailedPreconditionError,
        AbortedError,
        OutOfRangeError,
        UnimplementedError,
        InternalError,
        UnavailableError,
        DataLossError,
        UnauthenticatedError,
    )
}


def from_status(
    code: int,
    message: str,
    reason: str = "",
    metadata: Mapping[str, str] | None = None,
    fields: Sequence[tuple[str, str]] = (),
) -> EvenpackError:
    """The error of a gRPC code; `EvenpackError` itself for one that has no class."""
    return _CLASSES.get(code, EvenpackError)(message, reason, metadata, fields)
