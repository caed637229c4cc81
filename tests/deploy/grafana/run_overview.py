"""A program: the picture of the run overview for the README, of a run on a real server.

    run_overview.py PYTHON IMAGE

A producer sends real lengths, two DP ranks take a step about every half second and
mark it durable, a Prometheus with the repository's configuration and rules scrapes the
server each second. PYTHON is an interpreter that has matplotlib and draws IMAGE. The
environment is that of deploy.prometheus (tests/deploy/prometheus/CMakeLists.txt).
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from evenpack.v1 import job_pb2
from evenpack.v1 import packing_service_pb2 as api
from observed_job import RANKS, ObservedJob, observed_spec
from prometheus_process import ROOT, PrometheusProcess
from rank import Subscription
from server_process import ServerProcess
from worker_process import RankProcess, subscription

JOB = "run-7"
DASHBOARD = ROOT / "helm/evenpack/files/dashboards/evenpack-run-overview.json"
PROGRAM = ROOT / "tests/deploy/grafana/draw_dashboard.py"
TITLES = (
    "Imbalance",
    "Times faster than unpacked order",
    "CV of tokens per step",
    "Long documents",
    "Mean delay",
    "Waiting for steps",
    "Imbalance before and after",
    "Imbalance of steps",
    "Slowest and mean micro-batch",
    "Share of long documents",
    "Tokens per step",
    "Fill of full steps",
    "Delay of documents",
    "Delay, mean and late ones",
    "Tokens that wait",
)
# Seconds: of the run, of what is drawn of its end, and of $__rate_interval.
RUN = 90
DRAWN = 70
RATE_INTERVAL = 15
# Seconds that a step takes, at least and at most.
STEP = (0.35, 0.65)
# Steps that the producer is ahead, and documents of its messages.
AHEAD = 6
MESSAGE = 32
# Steps that a trainer has asked for and not taken.
CREDITS = 2


def spec() -> job_pb2.JobSpec:
    """Real lengths on two DP ranks, with the cost of a 7B model on H100."""
    made = observed_spec(micro_batches=4)
    made.policy.balanced.SetInParent()
    made.max_delay = 64
    made.parallelism.pipeline = 2
    made.cost.analytic.model.name = "7B"
    made.cost.analytic.hardware.name = "H100"
    return made


def trainer(rank: int) -> Subscription:
    """One that takes steps as it is allowed, and has few sent ahead."""
    asked = api.Subscribe(
        job=JOB, dp_rank=rank, subscriber=f"trainer-{rank}", credits=CREDITS
    )
    return subscription(f"{rank}", asked, paced=True)


def report_wait(job: ObservedJob, rank: int, seconds: float) -> None:
    """That a trainer took a step, for which it waited so long."""
    job.server.stub.ReportLatency(
        api.ReportLatencyRequest(
            job=JOB, dp_rank=rank, step_wait_seconds=seconds, steps_taken=1
        )
    )


def train(job: ObservedJob, trainers: RankProcess) -> None:
    """Steps at a trainer's pace, and documents as fast as they are needed."""
    pace = random.Random(7)
    end = time.monotonic() + RUN
    taken = 0
    while time.monotonic() < end:
        step_ends = time.monotonic() + pace.uniform(*STEP)
        while job.held().next_step < taken + AHEAD:
            job.feed(MESSAGE)
        taken += 1
        asked = time.monotonic()
        trainers.allow(taken)
        for rank in range(RANKS):
            trainers.await_steps(f"{rank}", taken)
            report_wait(job, rank, time.monotonic() - asked)
        time.sleep(max(0.0, step_ends - time.monotonic()))


def draw(python: str, prometheus: PrometheusProcess, image: str) -> None:
    """Asks the Prometheus for what the panels show."""
    drawn = ("--end", f"{time.time():.0f}", "--seconds", f"{DRAWN}")
    values = ("--rate-interval", f"{RATE_INTERVAL}s", "--set", f"job={JOB}")
    places = (DASHBOARD, prometheus.address, image)
    command = (python, "-B", PROGRAM, *drawn, *values, *places, *TITLES)
    subprocess.run(command, check=True)


def main() -> int:
    """Starts all, lets it run, draws."""
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    with ExitStack() as stack:
        store = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "store"
        server = stack.enter_context(ServerProcess("--store", f"sqlite:{store}"))
        job = ObservedJob(server, JOB, spec())
        trainers = job.followers(*(trainer(rank) for rank in range(RANKS)))
        stack.enter_context(trainers).await_subscribed()
        prometheus = stack.enter_context(PrometheusProcess([server.http_address], []))
        train(job, trainers)
        draw(sys.argv[1], prometheus, sys.argv[2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
