"""What a DataLoader's worker has done with the trainer's dataset."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import MutableSequence
from multiprocessing import RawArray
from multiprocessing.context import get_spawning_popen
from typing import Any, cast

from evenpack.data_loader_worker import is_worker
from evenpack.errors import FailedPreconditionError

# What is shared: how far the last loop in a worker is, and how often the trainer's
# process said where to go on.
_LOOP, _SAID = 0, 1
_NONE, _UNFINISHED, _ENDED = 0, 1, 2


def _shared_numbers() -> MutableSequence[int]:
    try:
        return cast("MutableSequence[int]", RawArray(ctypes.c_int64, 2))
    except OSError:  # There is no folder for it: this process alone has them.
        return [0, 0]


class WorkerLoop:
    """The last loop over a dataset that a DataLoader's worker ran.

    A worker iterates over a copy, so that neither the dataset nor the next worker's
    copy is behind the steps that it gave. This is in memory that they share, forked or
    spawned, by which they refuse what would repeat or lose steps. A process that is
    none of the DataLoader's has its own, as has a copy that is made in another way.
    One thread at a time, of one process.
    """

    def __init__(self) -> None:
        """There was none."""
        self._renew()
        _all.add(weakref.ref(self, _all.discard))

    def _renew(self) -> None:
        self._owner = os.getpid()
        self._shared = _shared_numbers()
        # Of this process.
        self._unfinished_here = False
        self._heard = 0

    def _own(self) -> MutableSequence[int]:
        """What this process and its workers share."""
        if self._owner != os.getpid() and not is_worker():
            self._renew()
        return self._shared

    def check(self) -> None:
        """Refuses to begin a loop.

        Raises:
            FailedPreconditionError: steps would be lost, in a persistent worker, or
                come again.
        """
        shared = self._own()
        if self._unfinished_here:
            raise FailedPreconditionError(
                "persistent_workers: True is not accepted behind a loop that was left "
                "early or failed: steps that the worker has fetched ahead would be "
                "lost; accepted: False, or a StatefulDataLoader that has loaded its "
                "state"
            )
        if self._heard != shared[_SAID]:
            raise FailedPreconditionError(
                "persistent_workers: True is not accepted where the dataset has loaded "
                "a state since, of which the worker does not know; accepted: False, or "
                "a StatefulDataLoader that loads its own"
            )
        if shared[_LOOP] == _UNFINISHED:
            raise FailedPreconditionError(
                "a loop over the dataset in a DataLoader's worker was left early, "
                "failed or goes on: its steps would come again; accepted: "
                "load_state_dict() first, of state_dict(step) behind the last step, of "
                "a StatefulDataLoader's state, or of a state_dict() from before that "
                "loop"
            )

    def give(self) -> None:
        """A step is given by this process."""
        self._unfinished_here = is_worker()
        self._note(_UNFINISHED if self._unfinished_here else _NONE)

    def end(self) -> None:
        """All were."""
        if self._unfinished_here:
            self._unfinished_here = False
            self._note(_ENDED)

    def _note(self, loop: int) -> None:
        """Unless who goes on elsewhere by now was told to."""
        shared = self._own()
        if self._heard == shared[_SAID]:
            shared[_LOOP] = loop

    def forget(self) -> None:
        """It was said where to go on."""
        shared = self._own()
        shared[_LOOP] = _NONE
        self._unfinished_here = False
        if not is_worker():
            shared[_SAID] += 1
        self._heard = shared[_SAID]

    def is_elsewhere(self) -> bool:
        """Whether steps were given in a worker, of which this process doesn't know."""
        return self._own()[_LOOP] != _NONE and not is_worker()

    def __getstate__(self) -> dict[str, Any]:
        """The same memory for a process that is being spawned."""
        shared = self._own()
        state = self.__dict__ | {"_unfinished_here": False, "_shared": shared}
        if get_spawning_popen() is None:
            state["_shared"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """As `__getstate__` has it."""
        self.__dict__.update(state)
        if state["_shared"] is None:
            self._renew()
        _all.add(weakref.ref(self, _all.discard))


# No WeakSet: while one is listed no other thread may make a loop.
_all: set[weakref.ref[WorkerLoop]] = set()


def _own_all() -> None:
    """What is forked next may be a worker of this process."""
    for reference in _all.copy():
        loop = reference()
        if loop is not None:
            loop._own()


os.register_at_fork(before=_own_all)
