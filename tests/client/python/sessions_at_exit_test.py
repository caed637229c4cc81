"""What becomes of a dataset whose program ends or is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import example_jobs
import pytest
from evenpack import Client
from server_process import ServerProcess

# A shell may have started the tests with Ctrl-C ignored, which processes inherit.
FOLLOW = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from evenpack import PackedDataset
dataset = PackedDataset(sys.argv[1], job="run")
steps = iter(dataset)
print(next(steps).index, flush=True)
"""


@pytest.fixture
def address(server: ServerProcess) -> str:
    """Of a server whose job has some steps and waits for documents."""
    client = Client(server.grpc_address)
    client.create_job("run", example_jobs.spec())
    example_jobs.feed(client, "run", example_jobs.lengths(300), end=False)
    return server.grpc_address


def _start(program: str, address: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )


@pytest.mark.parametrize(
    ("ending", "status", "error"),
    [
        ("", 0, ""),
        ("raise SystemExit(3)", 3, ""),
        ("raise RuntimeError('loss is NaN')", 1, "RuntimeError: loss is NaN"),
        ("del steps, dataset", 0, ""),
    ],
)
def test_a_program_ends_with_an_open_dataset(
    address: str, ending: str, status: int, error: str
) -> None:
    """With its own status, at once, and without a word of ours."""
    program = _start(FOLLOW + ending, address)
    output, errors = program.communicate(timeout=60)
    assert (output, program.returncode) == ("0\n", status)
    assert errors.splitlines()[-1:] == [error][: bool(error)]


def test_a_wait_for_a_step_can_be_interrupted(address: str) -> None:
    """By Ctrl-C, though the server never sends another."""
    waits = FOLLOW + "for step in steps: print(step.index, flush=True)"
    program = _start(waits, address)
    assert program.stdout is not None
    steps = Client(address).get_job("run").next_step
    for index in range(steps):
        assert program.stdout.readline() == f"{index}\n"
    program.send_signal(signal.SIGINT)
    _, errors = program.communicate(timeout=60)
    assert errors.splitlines()[-1] == "KeyboardInterrupt"
