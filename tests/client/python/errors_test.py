"""Tests of evenpack.errors."""

from __future__ import annotations

import pickle
import signal
import traceback
from collections.abc import Callable

import example_jobs
import grpc
import pytest
from evenpack import Client, PackedDataset, errors
from evenpack._native import Spec, Step
from server_process import ServerProcess


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


@pytest.mark.parametrize("code", [3, 10, 14, 16])
def test_what_an_error_says_can_be_read_from_a_traceback_of_it(code: int) -> None:
    """Of which PyTorch makes the error that a trainer gets from a worker."""
    error = errors.from_status(
        code, "job:\nit is taken", "CLAIM_TAKEN", {"subscriber": "a\nü"}, [("job", "x")]
    )
    assert str(error) == "job:\nit is taken"
    error.say_all()
    text = "".join(traceback.format_exception(error))
    copy = type(error)(f"Caught in DataLoader worker process 0.\n{text}\n")
    assert copy.reason == error.reason
    assert copy.metadata == error.metadata
    assert copy.fields == error.fields
    assert "it is taken" in copy.message
    assert pickle.loads(pickle.dumps(error)).message == "job:\nit is taken"


@pytest.mark.parametrize("rest", ["", "{", "[1, 2]", '["", 1, 2]', "3"])
def test_a_text_that_only_looks_like_an_errors_is_its_message(rest: str) -> None:
    """As any other."""
    error = errors.AbortedError(f"taken\nevenpack: {rest}")
    assert error.message == f"taken\nevenpack: {rest}"
    assert (error.reason, error.metadata, error.fields) == ("", {}, [])


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


def _signalled_within_from_status(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has Ctrl-C pressed while the native module makes an exception of a status."""
    made = errors.from_status

    def interrupted(*status: object) -> errors.EvenpackError:
        signal.raise_signal(signal.SIGINT)
        return made(*status)  # type: ignore[arg-type]

    monkeypatch.setattr(errors, "from_status", interrupted)


def _interrupted_then_told(
    call: Callable[[], object], kind: type[errors.EvenpackError]
) -> None:
    """The handler's exception comes out of the call, and of the next one its error."""
    # A shell's background has it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.MonkeyPatch.context() as patched:
            _signalled_within_from_status(patched)
            with pytest.raises(KeyboardInterrupt):
                call()
    finally:
        signal.signal(signal.SIGINT, before)
    with pytest.raises(kind):
        call()


def test_what_a_signals_handler_raises_comes_out_as_it_is() -> None:
    """In place of the error that was on its way, which the next call tells."""
    spec = Spec(b"")
    _interrupted_then_told(lambda: Step.read(b"none", spec), errors.DataLossError)


def test_an_interrupted_error_of_a_session_is_told_again(server: ServerProcess) -> None:
    """What ended a subscription or a producer is said by every call."""
    client = Client(server.grpc_address)
    dataset = PackedDataset(server.grpc_address, job="none", dp_rank=0)
    _interrupted_then_told(lambda: next(iter(dataset)), errors.NotFoundError)
    client.create_job("run", example_jobs.spec())
    producer = client.producer("run", "text")
    client.delete_job("run")

    def add() -> None:
        producer.add([5])
        producer.flush()

    _interrupted_then_told(add, errors.NotFoundError)


def test_an_interrupted_error_of_the_engine_here_is_told_again() -> None:
    """A document that no job can take isn't passed over."""
    dataset = PackedDataset(spec=example_jobs.spec(), lengths=[5, 1 << 30], dp_rank=0)
    _interrupted_then_told(lambda: next(iter(dataset)), errors.InvalidArgumentError)
