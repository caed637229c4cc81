"""A worker measures its machine, and jobs are decided by what it found."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

import job_specs
import local_client
from evenpack.v1 import cost_pb2, cost_profile_pb2, job_pb2, step_pb2
from evenpack.v1 import cost_profile_pb2_grpc as profile_rpc
from evenpack.v1 import packing_service_pb2 as api
from google.protobuf import json_format
from server_process import ServerProcess

WORKER = os.environ["EVENPACK_WORKER_PROGRAM"]
CONTROL = os.environ["EVENPACKCTL"]
REFUSED = 3
WINDOW = 512
# Of one rank; the model below has as many.
SHAPE = ("--query-heads", "2", "--kv-heads", "1", "--head-size", "64")
QUICK = ("--longest", "512", "--repetitions", "5", "--most-exchange-bytes", "8192")


def profiled_cost() -> cost_pb2.Cost:
    """A model of the heads that were measured."""
    shape = cost_pb2.ModelShape(
        layers=2,
        hidden=128,
        query_heads=2,
        kv_heads=1,
        head_size=64,
        ffn_size=256,
        vocabulary=1000,
    )
    linear = cost_pb2.AnalyticCost(
        model=cost_pb2.Model(shape=shape), hardware=cost_pb2.Hardware(name="H100")
    )
    return cost_pb2.Cost(profiled=cost_pb2.ProfiledCost(linear=linear))


class WorkerProfileTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.store = f"sqlite:{self.folder / 'store'}"
        self.server = ServerProcess("--store", self.store)
        self.addCleanup(lambda: self.server.__exit__(None, None, None))

    def start_worker(self, *flags: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [WORKER, "--profile", *SHAPE, *QUICK, *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def output_of(self, worker: subprocess.Popen[str], status: int = 0) -> str:
        out, err = worker.communicate(timeout=120)
        self.assertEqual(worker.returncode, status, err)
        return out if status == 0 else err

    def control(self, *arguments: str, status: int = 0) -> str:
        finished = subprocess.run(
            [CONTROL, *arguments, "--server", self.server.grpc_address],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        self.assertEqual(finished.returncode, status, finished.stderr)
        return finished.stdout if status == 0 else finished.stderr

    def described(self, name: str) -> dict[str, Any]:
        text = self.control("profiles", "describe", name, "--json")
        profile: dict[str, Any] = json.loads(text)
        return profile

    def get_profile(self, name: str) -> cost_profile_pb2.CostProfile:
        stub = profile_rpc.CostProfileServiceStub(self.server.channel)
        request = cost_profile_pb2.GetCostProfileRequest(name=name)
        return stub.GetCostProfile(request).profile

    def run_job(self, name: str, cost: cost_pb2.Cost) -> list[step_pb2.Step]:
        """A job of that cost: its steps."""
        spec = job_specs.small_spec(["web"], data=1, window=WINDOW, roomy=True)
        spec.sharding = job_pb2.SHARDING_ADAPTIVE
        spec.cost.CopyFrom(cost)
        local_client.create(self.server, name, spec)
        lengths = [(37 * i) % 400 + 1 for i in range(60)]
        sent = local_client.batch(length=lengths)
        ended = local_client.end_of_stream(len(lengths))
        opening = local_client.opening(name, "web")
        local_client.ingest(self.server, opening, sent, ended)
        return self.steps_of(name)

    def steps_of(self, name: str) -> list[step_pb2.Step]:
        decided = local_client.get_job(self.server, name).next_step
        requests = [api.GetStepRequest(job=name, step=step) for step in range(decided)]
        return [self.server.stub.GetStep(request).step for request in requests]

    def predictions(self, steps: list[step_pb2.Step]) -> list[int]:
        return [each.workload_ns for step in steps for each in step.micro_batches]

    def test_two_ranks_measure_and_a_job_is_decided_by_it(self) -> None:
        group = ("--group-folder", str(self.folder), "--ranks", "2")
        upload = ("--upload", self.server.grpc_address, "--name", "tiny")
        workers = [
            self.start_worker(*group, "--rank", str(rank), *upload) for rank in range(2)
        ]
        first, second = (self.output_of(worker) for worker in workers)
        self.assertRegex(first, r"(?m)^ +512 +512 +[0-9.]+ +[0-9.]+ ")
        self.assertIn(f"profile tiny is on {self.server.grpc_address}\n", first)
        self.assertEqual(second, "")
        profile = self.get_profile("tiny")
        self.assertEqual(list(profile.forward.q_lens), [128, 256, 512])
        self.assertGreater(profile.forward.slice_ns[8], 0)
        self.assertGreater(profile.backward.slice_ns[8], 0)
        self.assertEqual(profile.collectives[0].ranks, 2)
        self.assertEqual(list(profile.collectives[0].bytes), [4096, 8192])

        named = profiled_cost()
        named.profile = "tiny"
        steps = self.run_job("named", named)
        self.assertGreater(len(steps), 3)
        inline = profiled_cost()
        inline.kernel_latency.CopyFrom(profile.forward)
        alike = self.run_job("inline", inline)
        self.assertEqual(self.predictions(steps), self.predictions(alike))
        for mine, other in zip(steps, alike, strict=True):
            self.assertEqual(mine.digest, other.digest)
            shardings = [each.plan.sharding for each in mine.micro_batches]
            expected = [each.plan.sharding for each in other.micro_batches]
            self.assertEqual(shardings, expected)
        # A kernel ten times as slow.
        slower = profiled_cost()
        slower.kernel_latency.CopyFrom(profile.forward)
        tenfold = [10 * ns for ns in profile.forward.slice_ns]
        slower.kernel_latency.slice_ns[:] = tenfold
        slow = self.predictions(self.run_job("slow", slower))
        self.assertGreater(sum(slow), sum(self.predictions(steps)))

        self.assertEqual(self.server.terminate(), 0)
        self.server.__exit__(None, None, None)
        self.server = ServerProcess("--store", self.store)
        self.assertEqual(self.get_profile("tiny"), profile)
        self.assertEqual(self.steps_of("named"), steps)
        again = self.run_job("again", named)
        self.assertEqual(self.predictions(again), self.predictions(steps))

    def test_operators_put_list_and_delete_what_a_worker_wrote(self) -> None:
        file = str(self.folder / "profile.json")
        worker = self.start_worker("--output", file, "--hardware", "mine", "--json")
        written = json.loads(self.output_of(worker))
        self.assertEqual(json.loads(Path(file).read_text(encoding="utf-8")), written)
        self.assertIn("profile.name", self.control("profiles", "put", file, status=2))
        self.control("profiles", "put", file, "--name", "here")
        described = self.described("here")
        self.assertEqual(described, {**written, "name": "here"})
        as_file = self.folder / "again.json"
        as_file.write_text(json.dumps(described), encoding="utf-8")
        self.control("profiles", "put", str(as_file), "--name", "there")
        listed = json.loads(self.control("profiles", "list", "--json"))
        self.assertEqual(
            [(each["name"], each["hardware"]) for each in listed["profiles"]],
            [("here", "mine"), ("there", "mine")],
        )
        self.assertIn("here", self.control("profiles", "list"))

        shape = ("--window", "512", "--cp", "2", "--sharding", "adaptive")
        self.control("jobs", "create", "j", *shape, "--cost-profile", "here")
        job = json.loads(self.control("jobs", "describe", "j", "--json"))
        self.assertEqual(job["spec"]["cost"]["profile"], "here")
        self.control("profiles", "delete", "here")
        gone = self.control("profiles", "describe", "here", status=REFUSED)
        self.assertIn("'here' is not known", gone)
        update = ("jobs", "update", "j", "--max-delay", "9")
        refused = self.control(*update, status=REFUSED)
        self.assertIn("spec.cost.profile: 'here'", refused)
        self.control(*update, "--cost-profile", "there")

    def test_a_server_that_refuses_is_told_of(self) -> None:
        upload = ("--upload", self.server.grpc_address, "--name", "no such name")
        worker = self.start_worker(*upload)
        self.assertIn("profile.name", self.output_of(worker, status=2))

    def test_the_file_is_a_cost_profile(self) -> None:
        worker = self.start_worker("--json", "--profile-ranks", "1", "--name", "one")
        text = self.output_of(worker)
        profile = json_format.Parse(text, cost_profile_pb2.CostProfile())
        self.assertEqual(profile.name, "one")
        self.assertEqual(profile.heads.query_heads, 2)
        self.assertEqual(profile.element_type, cost_profile_pb2.ELEMENT_TYPE_FLOAT32)
        self.assertEqual(len(profile.collectives), 0)


if __name__ == "__main__":
    unittest.main()
