"""A server under load, with what its dashboards and alerts are about.

Jobs:
  run      two workers execute its attention for two trainers, which also report what
           whole micro-batches took
  uneven   four ranks with equal work, of which rank 2 reports half as much time again
  held     a stream that is full, and a subscriber without steps, since none is durable
  starved  subscribers that ask for steps of a stream that brings nothing, one of them
           through a plan agent
"""

from __future__ import annotations

import contextlib
import random
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import job_specs
import local_client
from agent_process import AgentProcess
from attention_trainers import SIDECAR_TRAINER
from child_process import ChildProcess, wait_until
from evenpack.v1 import job_pb2
from evenpack.v1 import packing_service_pb2 as api
from listening_process import ANY_PORT
from producer import Stream
from server_process import ServerProcess
from worker_process import ProducerProcess, RankProcess, subscription
from worker_service_process import WorkerServiceProcess

WINDOW = 160
LONGEST = 90
# Steps of `run` that trainers may be behind.
AHEAD = 4
SLOW_RANK = 2
RANKS = 4
# Of `uneven`, whose documents fill a micro-batch each.
LENGTH = 1024
EVEN_NS = 1_000_000


def _run_spec() -> job_pb2.JobSpec:
    """Small steps on two ranks, with queues, and costs that can be predicted whole."""
    spec = job_specs.small_spec(["web"], data=1, context=2, window=WINDOW, roomy=True)
    spec.parallelism.pipeline = 2
    spec.retention.checkpoints = 1000
    spec.cost.analytic.model.name = "550M"
    spec.cost.analytic.hardware.name = "H100"
    return spec


def _uneven_spec() -> job_pb2.JobSpec:
    spec = job_specs.small_spec(
        ["web"],
        data=RANKS,
        micro_batches=1,
        context=1,
        window=LENGTH,
        steps_ahead=1 << 20,
        roomy=True,
    )
    spec.policy.original.SetInParent()
    return spec


class ObservedRun:
    """Runs from when it is made. Leaving the context ends all processes."""

    def __init__(self) -> None:
        """Starts all, up to the first steps."""
        self._processes = contextlib.ExitStack()
        try:
            self._start()
        except BaseException:
            self._processes.close()
            raise

    def _start(self) -> None:
        enter = self._processes.enter_context
        store = Path(enter(tempfile.TemporaryDirectory())) / "store"
        self.server = enter(ServerProcess("--store", f"sqlite:{store}"))
        self._random = random.Random(7)
        self._sent = {"run": 0, "uneven": 0}
        self._reported = {"run": 0, "uneven": 0}
        local_client.create(self.server, "run", _run_spec())
        local_client.create(self.server, "uneven", _uneven_spec())
        self._hold()
        self._starve()
        self._execute()

    def __enter__(self) -> Self:
        """The run."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Ends all processes."""
        self._processes.close()

    def _hold(self) -> None:
        """A producer that is not read from any more, and a rank that waits."""
        spec = job_specs.small_spec(["web"], data=1, steps_ahead=1)
        local_client.create(self.server, "held", spec)
        stream = Stream("web", "held", "web", 0, 50_000, ends=False)
        process = ProducerProcess(self.server.grpc_address, [stream])
        self._processes.enter_context(process)
        full = 'evenpack_job_stream_full{job="held",stream="web"}'
        wait_until(lambda: self.server.metric(full) == 1, "the stream is full")
        rank = subscription("0", api.Subscribe(job="held", dp_rank=0), "received")
        waits = RankProcess(self.server.grpc_address, [rank])
        self._processes.enter_context(waits).await_subscribed()

    def _starve(self) -> None:
        """Ranks that wait for steps, at the server and at an agent."""
        local_client.create(
            self.server, "starved", job_specs.small_spec(["web"], data=1)
        )
        rank = subscription("0", api.Subscribe(job="starved", dp_rank=0))
        process = RankProcess(self.server.grpc_address, [rank])
        self._processes.enter_context(process).await_subscribed()
        agent = self._processes.enter_context(AgentProcess(self.server.grpc_address))
        self.agent_address = agent.http_address
        process = RankProcess(agent.grpc_address, [rank])
        self._processes.enter_context(process).await_subscribed()

    def _execute(self) -> None:
        """Workers and trainers of both ranks of `run`."""
        self.worker_addresses = []
        for cp_rank in range(2):
            worker = self._processes.enter_context(
                WorkerServiceProcess(self.server.grpc_address, http_listen=ANY_PORT)
            )
            self.worker_addresses.append(worker.http_address)
            address = self.server.grpc_address
            trainer = [SIDECAR_TRAINER, worker.folder, address, "run"]
            command = [*trainer, "0", f"{cp_rank}", f"m{cp_rank}"]
            self._processes.enter_context(ChildProcess(command))

    def go_on(self) -> None:
        """Some documents more where trainers need some, and what steps took."""
        job = local_client.get_job(self.server, "run")
        if job.next_step < job.durable_steps + AHEAD:
            self._send("run", [self._random.randint(1, LONGEST) for _ in range(20)])
        self._report_run(job.durable_steps)
        self._send("uneven", [LENGTH] * RANKS)
        self._report_uneven()

    def _send(self, job: str, lengths: list[int]) -> None:
        batch = local_client.batch(first_sequence=self._sent[job], length=lengths)
        local_client.ingest(self.server, local_client.opening(job, "web"), batch)
        self._sent[job] += len(lengths)

    def _report_run(self, end: int) -> None:
        """As a trainer reports its steps, of which it waited a little for each."""
        for step in range(self._reported["run"], end):
            asked = api.GetStepRequest(job="run", step=step, dp_rank=0)
            held = self.server.stub.GetStep(asked).step
            report = api.ReportLatencyRequest(
                job="run", dp_rank=0, step_wait_seconds=1e-4, steps_taken=1
            )
            for each in held.micro_batches:
                took = 1000 * sum(each.documents.length) + 500
                report.micro_batches.add(
                    step=step, micro_batch=each.index, forward_ns=took
                )
            self.server.stub.ReportLatency(report)
        self._reported["run"] = max(end, self._reported["run"])

    def _report_uneven(self) -> None:
        """The attention of its ranks, one of which is slow."""
        end = local_client.get_job(self.server, "uneven").next_step
        for step in range(self._reported["uneven"], end):
            for rank in range(RANKS):
                report = api.ReportLatencyRequest(job="uneven", dp_rank=rank, cp_rank=0)
                latency = report.micro_batches.add(step=step, micro_batch=rank)
                latency.attention.forward_passes = 1
                slow = EVEN_NS // 2 if rank == SLOW_RANK else 0
                latency.attention.forward_ns = EVEN_NS + slow
                self.server.stub.ReportLatency(report)
        self._reported["uneven"] = end
