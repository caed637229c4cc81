"""Tests that the example trains the same, interrupted or not, served or not."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from evenpack import Client, PackedDataset, Step
from server_process import ServerProcess

pytest.importorskip("torch")

EXAMPLE = Path(__file__).parents[4] / "client/python/examples/plain_loop.py"
STEPS = 9
# One thread adds in one order; and no run looks for a device.
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


def _start(*arguments: str | Path) -> subprocess.Popen[str]:
    command = [sys.executable, EXAMPLE, "--steps", str(STEPS), *arguments]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )


def _losses(lines: str) -> dict[int, str]:
    """What was printed for each step."""
    found = re.findall(r"^step (\d+): loss (\d+\.\d{9})$", lines, re.MULTILINE)
    assert len(found) == len(lines.splitlines())
    return {int(step): loss for step, loss in found}


def _run(*arguments: str | Path) -> dict[int, str]:
    with _start(*arguments) as process:
        try:
            output, errors = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 0, errors
    return _losses(output)


def _killed(after: int, *arguments: str | Path) -> dict[int, str]:
    """The losses of a run that is killed once it has printed that of a step."""
    lines = ""
    with _start(*arguments) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines += line
            if line.startswith(f"step {after}:"):
                process.kill()
                break
        rest, errors = process.communicate(timeout=120)
    assert f"step {after}:" in lines, errors
    # The last line may have been cut.
    return _losses(lines + rest[: rest.rfind("\n") + 1])


@pytest.fixture(scope="module")
def undisturbed() -> dict[int, str]:
    """Of a run in one go, without a server."""
    losses = _run()
    assert list(losses) == list(range(STEPS))
    assert len(set(losses.values())) == STEPS
    assert float(losses[STEPS - 1]) < float(losses[0])
    return losses


def test_a_killed_run_goes_on_with_the_same_losses(
    undisturbed: dict[int, str], tmp_path: Path
) -> None:
    arguments = ("--checkpoint", tmp_path / "loop.pt", "--save-every", "2")
    before = _killed(4, *arguments)
    assert before == {step: undisturbed[step] for step in before}
    after = _run(*arguments)
    # It had saved behind step 3, or further on where it lived that long.
    assert 4 <= min(after, default=STEPS) <= len(before)
    assert before | after == undisturbed


def test_a_served_run_has_the_same_losses(
    undisturbed: dict[int, str], server: ServerProcess
) -> None:
    assert _run("--address", server.grpc_address) == undisturbed


def test_a_killed_served_run_goes_on_with_the_same_losses(
    undisturbed: dict[int, str], server: ServerProcess, tmp_path: Path
) -> None:
    served = ("--address", server.grpc_address, "--job", "run-7")
    arguments = ("--checkpoint", tmp_path / "loop.pt", "--save-every", "2", *served)
    before = _killed(4, *arguments)
    after = _run(*arguments)
    assert 4 <= min(after, default=STEPS) <= len(before)
    assert before | after == undisturbed
    job = Client(server.grpc_address).get_job("run-7")
    assert job.durable_steps == 8


class _KilledError(Exception):
    """What ends a run where its process would have been."""


class _KilledBeforeTheSecondMark(PackedDataset):
    """Whose trainer has written a checkpoint and does not come to mark it."""

    _marks = 0

    def ack_durable(self, step: Step | int | None = None) -> None:
        self._marks += 1
        if self._marks == 2:
            raise _KilledError
        super().ack_durable(step)


def test_a_run_that_was_killed_before_it_marked_its_checkpoint_goes_on(
    server: ServerProcess, tmp_path: Path
) -> None:
    """Though its job decides no 10 steps beyond the checkpoint without the mark."""
    example = runpy.run_path(str(EXAMPLE))
    limits = {
        "retention": {"max_steps_ahead": 15},
        # All documents have room before a step is taken.
        "buffer_limits": {"max_tokens": 1 << 20},
    }
    Client(server.grpc_address).create_job("run", example["SPEC"] | limits)
    example["open_dataset"](server.grpc_address, "run")
    checkpoint = tmp_path / "loop.pt"
    with _KilledBeforeTheSecondMark(server.grpc_address, job="run") as dataset:
        with pytest.raises(_KilledError):
            example["Trainer"](dataset, checkpoint).train(40, 10)
        dataset.cancel()
    served = ("--address", server.grpc_address, "--job", "run")
    again = ("--steps", "40", "--save-every", "10", "--checkpoint", checkpoint)
    assert list(_run(*again, *served)) == list(range(20, 40))
    assert Client(server.grpc_address).get_job("run").durable_steps == 40
