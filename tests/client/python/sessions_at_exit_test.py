"""What becomes of a dataset whose program ends or is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

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
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
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


COLLECTED_BY_ITSELF = """
import gc, sys, threading
import example_jobs
from evenpack import Client, PackedDataset, transport

gc.disable()
let_go, collected = threading.Event(), threading.Event()
read = transport.StreamCall.read

calls = []

def read_and_collect(call):
    message = read(call)
    if not let_go.is_set():
        calls.append(call)
    elif call in calls:
        gc.collect()
        collected.set()
    return message

transport.StreamCall.read = read_and_collect
dataset = PackedDataset(sys.argv[1], job="run")
next(iter(dataset))
cycle = [dataset]
cycle.append(cycle)
del cycle, dataset
let_go.set()
example_jobs.feed(Client(sys.argv[1]), "run", example_jobs.lengths(900))
print(collected.wait(60))
"""


def test_a_dataset_may_be_let_go_of_in_its_own_thread(address: str) -> None:
    """The collector runs in any; a session's can't wait for itself."""
    program = _start(COLLECTED_BY_ITSELF, address)
    assert (*program.communicate(timeout=120), program.returncode) == ("True\n", "", 0)


# What runs in a thread that nobody waits for, and what it waits for.
IN_A_THREAD = """
import sys, threading, time
from evenpack import Client, PackedDataset

SPEC = {
    "streams": [{"name": "text"}],
    "window": 4096,
    "parallelism": {"micro_batches_per_rank": 8},
}

def packs():
    for _ in PackedDataset(spec=SPEC, lengths=[100, 900, 2000] * 10**6):
        begun.set()

def waits_for_a_step():
    for _ in PackedDataset(sys.argv[1], job="run"):
        begun.set()

def waits_for_room():
    client = Client(sys.argv[1])
    client.create_job(sys.argv[3], SPEC)
    producer = client.producer(sys.argv[3], "text")
    while True:
        producer.add([60] * 1000)
        begun.set()

def waits_for_a_server():
    # Of a port at which nobody listens.
    client = Client("127.0.0.1:1")
    begun.set()
    client.get_job("run")

begun = threading.Event()
threading.excepthook = lambda _: None
threading.Thread(target=globals()[sys.argv[2]], daemon=True).start()
begun.wait()
time.sleep(float(sys.argv[3]))
"""


@pytest.mark.parametrize(
    "waits", ["packs", "waits_for_a_step", "waits_for_room", "waits_for_a_server"]
)
def test_a_program_ends_while_a_thread_is_in_a_call(address: str, waits: str) -> None:
    """With status 0, whatever the thread is at."""
    for seconds in ("0.1", "0.5", "1"):
        program = subprocess.run(
            [sys.executable, "-c", IN_A_THREAD, address, waits, seconds],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (program.stdout, program.stderr, program.returncode) == ("", "", 0)
