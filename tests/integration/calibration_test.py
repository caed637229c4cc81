"""Trainers whose machine is not as the job's costs say: who is told, what changes."""

from __future__ import annotations

import json
import os
import random
import subprocess
import tempfile
import unittest
from pathlib import Path

import grpc
import local_client
from call_error import error_of
from child_process import wait_until
from evenpack.v1 import cost_pb2, job_pb2
from evenpack.v1 import packing_service_pb2 as api
from server_process import ServerProcess
from worker_process import RankProcess, subscription

CONTROL_PROGRAM = os.environ["EVENPACKCTL"]
LENGTHS = Path(os.environ["EVENPACK_SOURCE_DIR"], "deploy/data/lengths/wlbllm.txt")
CROSSOVER = 47_000
NS_PER_TOKEN = 1000
WINDOW = 131_072
RANKS = 2
MICRO_BATCHES = 2
# Within which a model that is wrong by two is to be corrected.
STEPS = 50


def spec_with(cost: cost_pb2.Cost) -> job_pb2.JobSpec:
    """A job of two ranks whose micro-batches differ in their share of attention."""
    cost.quadratic.crossover_tokens = CROSSOVER
    cost.quadratic.ns_per_token = NS_PER_TOKEN
    return job_pb2.JobSpec(
        streams=[job_pb2.Stream(name="web")],
        parallelism=job_pb2.Parallelism(
            data=RANKS, micro_batches_per_rank=MICRO_BATCHES
        ),
        window=WINDOW,
        max_length=WINDOW + WINDOW // 2,
        policy=job_pb2.Policy(wlb=job_pb2.WlbPolicy()),
        cost=cost,
        retention=job_pb2.Retention(max_steps_ahead=1000),
    )


class Machine:
    """Both ranks of a job: they execute its steps and report what that took."""

    def __init__(self, server: ServerProcess, attention: float) -> None:
        """`attention`: how many times the model's cost it really takes."""
        self._server = server
        self._attention = attention
        self._random = random.Random(7)
        self._lengths = [int(line) for line in LENGTHS.read_text().split()]
        self._sent = 0
        self.executed = 0

    def use(self, server: ServerProcess) -> None:
        """Goes on with the server's successor."""
        self._server = server

    def train(self, steps: int) -> None:
        """Sends documents until so many steps more are executed, one by one."""
        end = self.executed + steps
        while self.executed < end:
            decided = local_client.get_job(self._server, "job").next_step
            while self.executed < min(decided, end):
                self._execute(self.executed)
                self.executed += 1
            if self.executed < end:
                self._send(20)

    def _send(self, count: int) -> None:
        lengths = self._lengths[self._sent : self._sent + count]
        batch = local_client.batch(first_sequence=self._sent, length=lengths)
        opened = local_client.opening("job", "web")
        local_client.ingest(self._server, opened, batch)
        self._sent += count

    def _execute(self, step: int) -> None:
        for rank in range(RANKS):
            asked = api.GetStepRequest(job="job", step=step, dp_rank=rank)
            held = self._server.stub.GetStep(asked).step
            report = api.ReportLatencyRequest(job="job", dp_rank=rank)
            for micro_batch in held.micro_batches:
                took = self._forward_ns(list(micro_batch.documents.length))
                report.micro_batches.add(
                    step=step, micro_batch=micro_batch.index, forward_ns=took
                )
            self._server.stub.ReportLatency(report)

    def _forward_ns(self, lengths: list[int]) -> int:
        attention = sum(length * length for length in lengths) / CROSSOVER
        ns = NS_PER_TOKEN * (self._attention * attention + sum(lengths))
        ns *= self._random.uniform(0.96, 1.04)
        if self._random.random() < 0.1:
            ns *= self._random.uniform(1.5, 10)
        return round(ns)


class CalibrationTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.store = f"sqlite:{Path(folder) / 'store'}"
        self.server = self.enterContext(ServerProcess("--store", self.store))

    def create(self, **fields: object) -> None:
        cost = cost_pb2.Cost(**fields)  # type: ignore[arg-type]
        local_client.create(self.server, "job", spec_with(cost))

    def scale(self, kind: str, part: str = "attention") -> float:
        """One of the job's scales, as /metrics has it."""
        return self.server.metric(
            f'evenpack_job_cost_{part}_scale{{job="job",scale="{kind}"}}'
        )

    def control(self, *arguments: str) -> str:
        """What evenpackctl prints."""
        finished = subprocess.run(
            [CONTROL_PROGRAM, *arguments, "--server", self.server.grpc_address],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return finished.stdout

    def follow(self) -> RankProcess:
        """A rank that only receives."""
        asked = api.Subscribe(job="job", dp_rank=0, from_step=0)
        follower = subscription("0", asked, marks="received")
        return self.enterContext(RankProcess(self.server.grpc_address, [follower]))

    def test_a_job_that_asks_for_it_corrects_costs_wrong_by_two(self) -> None:
        self.create(self_calibrating=True)
        machine = Machine(self.server, 2)
        machine.train(1)
        rank = self.follow()
        machine.train(STEPS - 1)
        wait_until(
            lambda: abs(self.scale("applied") - 2) < 0.1, "the costs are corrected"
        )
        self.assertAlmostEqual(self.scale("applied", "linear"), 1, delta=0.05)
        self.assertAlmostEqual(self.scale("measured"), 2, delta=0.1)
        separable = 'evenpack_job_cost_scales_separable{job="job"}'
        self.assertEqual(self.server.metric(separable), 1)
        times = self.server.metric('evenpack_job_cost_calibrations_total{job="job"}')
        self.assertIn(times, range(3, 7))
        # The rank has all steps of one epoch, and its call goes on.
        steps = rank.await_steps("0", STEPS)
        self.assertEqual({step.epoch for step in steps}, {0})
        job = local_client.get_job(self.server, "job")
        self.assertEqual(job.epoch, 0)
        self.assertEqual(job.spec.cost.attention_scale, self.scale("applied"))

        # A successor has the same steps and goes on with the same costs.
        digests = [step.digest for step in local_client.steps_of(self.server, "job")]
        self.server.kill()
        self.server = self.enterContext(ServerProcess("--store", self.store))
        again = local_client.get_job(self.server, "job")
        self.assertEqual(again.spec, job.spec)
        steps = local_client.steps_of(self.server, "job")
        self.assertEqual([step.digest for step in steps], digests)
        machine.use(self.server)
        machine.train(10)
        self.assertAlmostEqual(self.scale("measured"), 2, delta=0.1)

    def test_an_operator_applies_what_is_suggested(self) -> None:
        self.create()
        machine = Machine(self.server, 0.5)
        machine.train(20)
        self.assertEqual(self.scale("applied"), 1)
        self.assertAlmostEqual(self.scale("measured"), 0.5, delta=0.025)
        self.assertEqual(self.scale("suggested"), 0.8)
        told = json.loads(self.control("latency", "--job", "job", "--json"))
        calibration = told["calibration"]
        self.assertEqual(calibration["suggested"]["attention"], 0.8)
        self.assertEqual(calibration["applied"], {"attention": 1, "linear": 1})
        self.assertTrue(calibration["separable"])
        text = self.control("latency", "--job", "job", "--apply")
        self.assertIn("costs are multiplied by", text)
        job = local_client.get_job(self.server, "job")
        self.assertEqual(job.epoch, 1)
        self.assertEqual(job.spec.cost.attention_scale, 0.8)
        # Or at once, who trusts what was measured.
        self.control("jobs", "update", "job", "--attention-scale", "0.5")
        machine.train(10)
        self.assertEqual(self.scale("applied"), 0.5)
        self.assertEqual(self.scale("suggested"), 0.5)

    def test_scales_and_latencies_that_are_refused(self) -> None:
        for scale in (-1.0, 0.009, 100.5, float("nan"), float("inf")):
            with self.assertRaises(grpc.RpcError) as caught:
                self.create(attention_scale=scale)
            error = error_of(caught.exception)
            self.assertEqual(error.code, "INVALID_ARGUMENT")
            self.assertIn("spec.cost.attention_scale", error.message)
        self.create()
        Machine(self.server, 1).train(1)
        report = api.ReportLatencyRequest(job="job")
        report.micro_batches.add(step=0, micro_batch=0, forward_ns=-1)
        with self.assertRaises(grpc.RpcError) as caught:
            self.server.stub.ReportLatency(report)
        self.assertEqual(error_of(caught.exception).code, "INVALID_ARGUMENT")
        # However large, one time changes nothing.
        report.micro_batches[0].forward_ns = (1 << 63) - 1
        self.server.stub.ReportLatency(report)
        self.assertEqual(self.scale("suggested"), 1)


if __name__ == "__main__":
    unittest.main()
