"""WorkerLoop: what a trainer's process and its DataLoader's workers share."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import sys
import threading
from collections.abc import Callable
from multiprocessing.synchronize import Event
from typing import Any

import evenpack.worker_loop
import pytest
from evenpack.errors import FailedPreconditionError
from evenpack.worker_loop import WorkerLoop

data = pytest.importorskip("torch.utils.data")


def _as_worker(do: Callable[[WorkerLoop], None], loop: WorkerLoop) -> None:
    data._utils.worker._worker_info = object()
    do(loop)


def _in_process(
    target: Callable[..., None], *arguments: object, method: str = "fork"
) -> None:
    context: Any = multiprocessing.get_context(method)
    process = context.Process(target=target, args=arguments)
    process.start()
    process.join()
    assert process.exitcode == 0


def _give_one(loop: WorkerLoop) -> None:
    loop.check()
    assert not loop.is_elsewhere()
    loop.give()
    assert not loop.is_elsewhere()


def _give_all(loop: WorkerLoop) -> None:
    _give_one(loop)
    loop.end()
    loop.check()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_worker_that_did_not_end_is_noticed(method: str) -> None:
    """By the trainer's process and by the next worker, until a state is loaded."""
    loop = WorkerLoop()
    loop.check()
    assert not loop.is_elsewhere()
    _in_process(_as_worker, _give_one, loop, method=method)
    assert loop.is_elsewhere()
    with pytest.raises(FailedPreconditionError, match="would come again"):
        loop.check()
    _in_process(_as_worker, _is_refused, loop, method=method)
    loop.forget()
    assert not loop.is_elsewhere()
    loop.check()
    _in_process(_as_worker, _give_all, loop, method=method)
    assert loop.is_elsewhere()
    loop.check()


def _is_refused(loop: WorkerLoop) -> None:
    with pytest.raises(FailedPreconditionError, match="would come again"):
        loop.check()


def _loads_first(loop: WorkerLoop) -> None:
    loop.forget()
    _give_one(loop)
    with pytest.raises(FailedPreconditionError, match="fetched ahead would be lost"):
        loop.check()
    loop.forget()
    loop.check()


def test_a_worker_may_load_a_state_itself() -> None:
    """As a StatefulDataLoader has it do."""
    loop = WorkerLoop()
    _in_process(_as_worker, _give_one, loop)
    _in_process(_as_worker, _loads_first, loop)
    loop.check()


def _has_its_own(loop: WorkerLoop) -> None:
    assert not loop.is_elsewhere()
    loop.check()
    loop.forget()


def test_a_process_that_is_no_worker_has_its_own() -> None:
    """A rank that was given a dataset, say: others' workers are not its."""
    loop = WorkerLoop()
    _in_process(_as_worker, _give_one, loop)
    _in_process(_has_its_own, loop)
    assert loop.is_elsewhere()


def _has_a_worker(method: str, loop: WorkerLoop) -> None:
    _in_process(_as_worker, _give_one, loop, method=method)
    assert loop.is_elsewhere()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_such_a_process_shares_its_own_with_its_workers(method: str) -> None:
    """Though it does nothing with the loop before they begin."""
    loop = WorkerLoop()
    _in_process(_has_a_worker, method, loop)
    assert not loop.is_elsewhere()
    loop.check()


def _goes_on_late(last: str, given: Event, loaded: Event, loop: WorkerLoop) -> None:
    data._utils.worker._worker_info = object()
    loop.give()
    given.set()
    assert loaded.wait(60)
    getattr(loop, last)()


@pytest.mark.parametrize("last", ["give", "end"])
def test_a_worker_of_before_a_state_was_loaded_changes_nothing(last: str) -> None:
    """It is still fetching ahead."""
    loop, context = WorkerLoop(), multiprocessing.get_context("fork")
    given, loaded = context.Event(), context.Event()
    arguments = (last, given, loaded, loop)
    worker = context.Process(target=_goes_on_late, args=arguments)
    worker.start()
    assert given.wait(60)
    loop.forget()
    loaded.set()
    worker.join()
    assert worker.exitcode == 0
    loop.check()
    assert not loop.is_elsewhere()


def test_a_process_may_fork_while_a_thread_makes_loops() -> None:
    """As one that opens another dataset while a DataLoader starts its workers."""
    loops = [WorkerLoop() for _ in range(300)]
    made, interval = threading.Event(), sys.getswitchinterval()

    def make() -> None:
        state = loops[0].__getstate__() | {"_shared": loops[0]._own()}
        while not made.is_set():
            WorkerLoop.__new__(WorkerLoop).__setstate__(state)

    thread = threading.Thread(target=make)
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        for _ in range(10_000):
            evenpack.worker_loop._own_all()
    finally:
        made.set()
        thread.join()
        sys.setswitchinterval(interval)


def test_a_process_that_gives_steps_itself_knows_of_them() -> None:
    """Behind a worker that gave all of its own."""
    loop = WorkerLoop()
    _in_process(_as_worker, _give_all, loop)
    assert loop.is_elsewhere()
    loop.give()
    assert not loop.is_elsewhere()


def test_a_copy_has_had_no_loop() -> None:
    """It is of another dataset, as is one from a file."""
    loop = WorkerLoop()
    _in_process(_as_worker, _give_one, loop)
    for other in (copy.deepcopy(loop), pickle.loads(pickle.dumps(loop))):
        assert not other.is_elsewhere()
        other.check()


def test_without_shared_memory_a_process_has_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where no folder is writable."""

    def no_folder(*_: object) -> None:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(evenpack.worker_loop, "RawArray", no_folder)
    loop = WorkerLoop()
    _in_process(_as_worker, _give_one, loop)
    loop.check()
