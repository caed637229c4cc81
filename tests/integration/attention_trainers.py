"""Trainers that execute the attention of a job's steps, and jobs for them."""

from __future__ import annotations

import json
import os
import random
import tempfile
import unittest
from collections.abc import Mapping, Sequence
from pathlib import Path

import job_specs
import local_client
from child_process import ChildProcess
from server_process import ServerProcess

IN_PROCESS_TRAINER = os.environ["EVENPACK_ATTENTION_TRAINER"]
SIDECAR_TRAINER = os.environ["EVENPACK_SIDECAR_TRAINER"]
WINDOW = 160
# A job's steps are about as many.
STEPS = 12
# Of float32, and below of bfloat16 by cuDNN: gpu_worker/selftest has the bounds.
ACCEPTED = 1e-5
ACCEPTED_OF_BFLOAT16 = 2e-2


def create_job(
    server: ServerProcess, context: int, data: int = 1, steps: int = STEPS
) -> int:
    """The job "job", of about so many steps, which are small; how many they are."""
    spec = job_specs.small_spec(
        ["web"], data=data, context=context, window=WINDOW, roomy=True
    )
    spec.retention.checkpoints = 1000
    local_client.create(server, "job", spec)
    lengths: list[int] = []
    draw = random.Random(7)
    while sum(lengths) < steps * 2 * data * WINDOW:
        lengths.append(draw.randint(1, 90))
    sent = local_client.batch(length=lengths)
    ended = local_client.end_of_stream(len(lengths))
    opening = local_client.opening("job", "web")
    local_client.ingest(server, opening, sent, ended)
    return local_client.get_job(server, "job").next_step


class AttentionTrainer(ChildProcess):
    """A trainer of one rank, which says of each step what came of it."""

    def __init__(
        self,
        program: Sequence[str],
        server: ServerProcess,
        rank: tuple[int, int],
        member: str,
        from_step: int | None = None,
        variables: Mapping[str, str] | None = None,
        more: Sequence[str] = (),
    ) -> None:
        """Starts it; `rank` is (dp_rank, cp_rank), `more` what follows from_step."""
        of_rank = [*map(str, rank), member]
        begin = [] if from_step is None else [str(from_step)]
        command = [*program, server.grpc_address, "job", *of_rank, *begin, *more]
        super().__init__(command, variables)
        self.accepted = ACCEPTED
        self.steps: list[int] = []
        self.epoch = 0
        self.attempts = 0

    def take(self) -> bool:
        """Its next step, whose numbers must be right; False at the end."""
        line = self.next_line()
        if line is None:
            return False
        said = json.loads(line)
        if said["error"] > self.accepted:
            raise AssertionError(f"step {said['step']} is wrong by {said['error']}")
        self.steps.append(said["step"])
        self.epoch = said.get("epoch", 0)
        self.attempts += said["attempts"]
        return True

    def take_until(self, step: int) -> None:
        """Waits until it has executed it."""
        while not self.steps or self.steps[-1] < step:
            if not self.take():
                raise AssertionError(f"it ended early: {self.stderr()}")

    def take_all(self) -> None:
        """Waits for its good end."""
        while self.take():
            pass
        status = self.wait()
        if status != 0:
            raise AssertionError(f"exit status {status}: {self.stderr()}")


class AttentionTestCase(unittest.TestCase):
    """A server, and one job on it."""

    def setUp(self) -> None:
        """Starts the server."""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self._store = f"sqlite:{Path(folder) / 'store'}"
        self.server = ServerProcess("--store", self._store)
        self.addCleanup(lambda: self.server.__exit__(None, None, None))

    def create(self, context: int, data: int = 1) -> None:
        """Makes the job."""
        self.steps = create_job(self.server, context, data)

    def create_anew(self, context: int) -> None:
        """On a server of its own, within a test of many."""
        self.server.__exit__(None, None, None)
        self.setUp()
        self.create(context)
        self.assertGreater(self.steps, STEPS - 3)

    def restart_server(self) -> None:
        """As a crash would have it."""
        address = self.server.grpc_address
        self.server.kill()
        self.server.__exit__(None, None, None)
        self.server = ServerProcess("--store", self._store, listen=address)

    def check_all(self, trainers: list[AttentionTrainer], first: int = 0) -> None:
        """Each executes all of the steps from the first on, once."""
        for trainer in trainers:
            trainer.take_all()
            self.assertEqual(trainer.steps, [*range(first, self.steps)])
