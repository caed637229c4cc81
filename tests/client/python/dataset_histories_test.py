"""Random histories of a trainer with a PackedDataset: no step twice, none left out."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from typing import Any

import example_jobs
import pytest
from evenpack import Client, PackedDataset, ServerOptions, Step
from evenpack.errors import CancelledError, FailedPreconditionError
from server_process import ServerProcess

RANK = 1
POLICIES = ("wlb", "balanced", "original", "hybrid")
EVENTS = 60


class Trainer:
    """What a trainer may do with a dataset in any order, and what must come of it.

    With a client it follows the client's job `run`, else the engine decides here.
    """

    def __init__(self, seed: int, client: Client | None) -> None:
        self.random = random.Random(seed)
        self.client = client
        self.documents = example_jobs.lengths(500, seed)
        policy = example_jobs.POLICIES[POLICIES[seed % len(POLICIES)]]
        self.spec = example_jobs.spec(**policy)
        self.expected = [step.digest for step in self._local()]
        if client is not None:
            client.create_job("run", self.spec)
            example_jobs.feed(client, "run", self.documents)
        # The step that comes next, where the trainer has marked those before, of which
        # the server has confirmed some, and where it can go on.
        self.next = self.marked = self.confirmed = 0
        self.states: list[dict[str, Any]] = []
        self.given: list[Step] = []
        self.dataset = self._opened()
        self.iterator: Iterator[Step] | None = None

    def _local(self) -> PackedDataset:
        return PackedDataset(spec=self.spec, lengths=self.documents, dp_rank=RANK)

    def _opened(self) -> PackedDataset:
        if self.client is None:
            return self._local()
        options = ServerOptions(credits=self.random.choice([1, 2, 16]))
        return PackedDataset(
            self.client.address, job="run", dp_rank=RANK, options=options
        )

    def take(self) -> None:
        """Some steps, of the same iteration or of another one."""
        if self.random.random() < 0.3:
            self.iterator = None
        for _ in range(self.random.randint(1, 6)):
            step = self._next()
            if step is None:
                assert self.next == len(self.expected)
                self.iterator = None
                return
            assert (step.index, step.digest) == (self.next, self.expected[self.next])
            self.given.append(step)
            self.next += 1

    def _next(self) -> Step | None:
        if self.iterator is not None:
            try:
                return next(self.iterator, None)
            except CancelledError:  # The dataset goes on elsewhere.
                pass
        self.iterator = iter(self.dataset)
        return next(self.iterator, None)

    def save(self) -> None:
        """The state behind the last step, or one of those before."""
        some = [step for step in self.given[-4:] if step.index < self.next]
        step = self.random.choice([None, *some])
        try:
            state = self.dataset.state_dict(step)
        except FailedPreconditionError:
            # The engine that decided the step is gone.
            assert self.client is None
            assert step is not None
            return
        behind = self.next if step is None else step.index + 1
        assert state["next_step"] in (behind, None)
        self.states.append(pickle.loads(pickle.dumps(state)))

    def load(self) -> None:
        """Goes on at a state of which the server has kept the steps."""
        self.close()
        kept = [state for state in self.states if self._is_kept(state)]
        if kept:
            state = self.random.choice(kept)
            self.dataset.load_state_dict(state)
            self.next = state["next_step"]

    def _is_kept(self, state: dict[str, Any]) -> bool:
        return state["next_step"] is not None and state["next_step"] >= self.confirmed

    def mark(self) -> None:
        """A step of any iteration."""
        done = [step for step in self.given[-6:] if step.index < self.next]
        if done:
            step = self.random.choice(done)
            self.dataset.ack_durable(step)
            self.marked = max(self.marked, step.index + 1)

    def close(self) -> None:
        """Marks are confirmed then; those of the other rank follow."""
        self.dataset.close()
        if self.client is not None:
            job = self.client.get_job("run")
            assert job.durable_steps_per_rank[RANK] == self.marked
            if self.confirmed < self.marked <= self.next:
                self.client.acknowledge("run", 1 - RANK, self.marked - 1, 0)
                self.confirmed = self.marked

    def move(self) -> None:
        """To another process."""
        self.close()
        self.dataset = pickle.loads(pickle.dumps(self.dataset))
        self.iterator = None

    def begin_anew(self) -> None:
        """Without a state: behind the steps that were marked."""
        self.close()
        self.dataset = self._opened()
        self.iterator = None
        self.next = self.marked if self.client is not None else 0


@pytest.mark.parametrize("seed", range(8))
def test_each_step_comes_once_behind_the_one_before(seed: int) -> None:
    """In a process without a server."""
    _play(Trainer(seed, None))


@pytest.mark.parametrize("seed", range(8))
def test_so_it_does_from_a_server(server: ServerProcess, seed: int) -> None:
    """Which knows of every mark that was confirmed."""
    _play(Trainer(seed, Client(server.grpc_address)))


def _play(trainer: Trainer) -> None:
    events = [trainer.take] * 4 + [trainer.save] * 2 + [trainer.mark] * 2
    events += [trainer.load, trainer.close, trainer.move, trainer.begin_anew]
    for _ in range(EVENTS):
        trainer.random.choice(events)()
    while trainer.next < len(trainer.expected):
        trainer.take()
    trainer.dataset.close()
