"""Unary calls with wrong input: exact codes, messages and details."""

from __future__ import annotations

import unittest
from functools import partial
from typing import ClassVar

import job_specs
import local_client
from evenpack.v1 import packing_service_pb2 as api
from google.protobuf.message import Message
from refusals import Refusal, RefusalTest, no_such_job, out_of_field
from server_process import ServerProcess

MISSING = "no-such-job"
SHAPE = {
    "epoch": "0",
    "data_parallel": "2",
    "micro_batches": "4",
    "context_parallel": "2",
    "window": "4096",
}
# Of the job below: steps decided, and those that are let go.
STEPS = 8
LET_GO = 3


def out_of_range(*says: str, reason: str = "", **metadata: str) -> Refusal:
    """OUT_OF_RANGE with what the message says."""
    return Refusal("OUT_OF_RANGE", says, reason, metadata)


STEP_LET_GO = out_of_range(
    "step: 2 was let go",
    f"the oldest kept is {LET_GO}",
    reason="STEP_LET_GO",
    oldest_step=f"{LET_GO}",
)
STEP_NOT_DECIDED = out_of_range(
    f"step: {STEPS} is not decided yet; the next to be is {STEPS}",
    reason="STEP_NOT_DECIDED",
    next_step=f"{STEPS}",
)
NO_SUCH_RANK = out_of_range("dp_rank: 2 is not accepted; accepted: 0 to 1")


def measured(
    step: int = 0, micro_batch: int = 0, forward_ns: int = 0, backward_ns: int = 0
) -> api.ReportLatencyRequest:
    """A report of one micro-batch."""
    latency = api.MicroBatchLatency(
        step=step,
        micro_batch=micro_batch,
        forward_ns=forward_ns,
        backward_ns=backward_ns,
    )
    return api.ReportLatencyRequest(job="job", micro_batches=[latency])


JOB_CASES: list[tuple[Message, Refusal]] = [
    (
        api.CreateJobRequest(name="job", spec=job_specs.small_spec()),
        Refusal(
            "ALREADY_EXISTS", ("name: 'job' is taken",), "JOB_EXISTS", {"job": "job"}
        ),
    ),
    (api.GetJobRequest(name=MISSING), no_such_job(MISSING)),
    (
        api.ListJobsRequest(page_size=-1),
        out_of_field("page_size", -1, "0 or more"),
    ),
    (
        api.UpdateJobRequest(name=MISSING, spec=job_specs.small_spec()),
        no_such_job(MISSING),
    ),
    (
        api.UpdateJobRequest(name="job", spec=job_specs.small_spec(), from_step=2),
        out_of_range(
            "from_step: 2 is not accepted; accepted: 3 to 8",
            "above the last durable step",
        ),
    ),
    (
        api.UpdateJobRequest(name="job", spec=job_specs.small_spec(), from_step=11),
        out_of_range("from_step: 11 is not accepted; accepted: 3 to 8"),
    ),
    (
        api.UpdateJobRequest(name="job", spec=job_specs.small_spec(), expected_epoch=7),
        Refusal("ABORTED", ("the job is in epoch 0",), "EPOCH_ENDED", SHAPE),
    ),
    (
        api.UpdateJobRequest(name="job", spec=job_specs.small_spec(["web"])),
        out_of_field(
            "spec.streams",
            "a list of 1 with other names or weights",
            "the streams that the job was created with",
        ),
    ),
    (
        api.UpdateJobRequest(name="job", spec=job_specs.small_spec(window=2048)),
        Refusal(
            "FAILED_PRECONDITION",
            ("which waits, has 4000 tokens and max_length would be 3072",),
        ),
    ),
    (api.DeleteJobRequest(name=MISSING), no_such_job(MISSING)),
]

STEP_CASES: list[tuple[Message, Refusal]] = [
    (api.GetStepRequest(job=MISSING), no_such_job(MISSING)),
    (api.GetStepRequest(job="job", step=LET_GO - 1), STEP_LET_GO),
    (api.GetStepRequest(job="job", step=STEPS), STEP_NOT_DECIDED),
    (
        api.GetStepRequest(job="job", step=5, dp_rank=2),
        out_of_field("dp_rank", 2, "0 to 1"),
    ),
    (
        api.GetStepRequest(job="job", step=5, cp_rank=2),
        out_of_field("cp_rank", 2, "0 to 1"),
    ),
    (api.AcknowledgeRequest(job=MISSING), no_such_job(MISSING)),
    (api.AcknowledgeRequest(job="job", dp_rank=2), NO_SUCH_RANK),
    (
        api.AcknowledgeRequest(job="job", step=STEPS),
        out_of_range(f"step: {STEPS} is not decided; accepted: below {STEPS}"),
    ),
    (
        api.AcknowledgeRequest(job="job", step=5, epoch=1),
        Refusal(
            "ABORTED",
            ("epoch: 1 is not that of step 5; accepted: 0",),
            "EPOCH_ENDED",
            {"epoch": "0"},
        ),
    ),
    (api.ReportLatencyRequest(job=MISSING), no_such_job(MISSING)),
    (api.ReportLatencyRequest(job="job", dp_rank=2), NO_SUCH_RANK),
    (
        api.ReportLatencyRequest(job="job", cp_rank=2),
        out_of_range("cp_rank: 2 is not accepted; accepted: 0 to 1"),
    ),
    (measured(step=STEPS), STEP_NOT_DECIDED),
    (
        measured(step=5, micro_batch=2),
        out_of_range("micro_batch: 2 is not one of dp_rank 0; accepted: 0 to 1"),
    ),
    (
        measured(step=5, forward_ns=-1),
        out_of_field("micro_batches[0].forward_ns", -1, "0 or more nanoseconds"),
    ),
    (
        measured(step=5, backward_ns=-2),
        out_of_field("micro_batches[0].backward_ns", -2, "0 or more nanoseconds"),
    ),
    (
        api.ReportLatencyRequest(
            job="job", micro_batches=[api.MicroBatchLatency(step=5)] * 65537
        ),
        out_of_field("micro_batches", "65537 entries", "at most 65536"),
    ),
    *(
        (
            api.ReportLatencyRequest(job="job", step_wait_seconds=seconds),
            out_of_field("step_wait_seconds", f"{seconds:g}", "0 to 1e9 seconds"),
        )
        for seconds in (-0.5, float("nan"), float("inf"), 1.7e308)
    ),
    (
        api.ReportLatencyRequest(job="job", steps_taken=2**64 - 1),
        out_of_field("steps_taken", 2**64 - 1, f"0 to {2**32}"),
    ),
]


class CallRefusalTest(RefusalTest):
    server: ServerProcess
    full: ClassVar[ServerProcess]

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = cls.enterClassContext(ServerProcess())
        spec = job_specs.small_spec(roomy=True)
        local_client.create(cls.server, "job", spec)
        for stream in job_specs.STREAMS:
            local_client.ingest(
                cls.server,
                local_client.opening("job", stream),
                local_client.batch(length=[4000] * 21),
            )
        local_client.acknowledge(cls.server, "job", LET_GO - 1, 2)
        job = local_client.get_job(cls.server, "job")
        assert (job.next_step, job.oldest_step) == (STEPS, LET_GO), job

    def check_all(self, cases: list[tuple[Message, Refusal]]) -> None:
        for request, expected in cases:
            method = type(request).__name__.removesuffix("Request")
            with self.subTest(f"{method}: {expected.says[0]}"):
                call = getattr(self.server.stub, method)
                error = self.refused(partial(call, request))
                self.check(error, expected, type(request))

    def test_calls_about_jobs(self) -> None:
        self.check_all(JOB_CASES)

    def test_calls_about_steps(self) -> None:
        self.check_all(STEP_CASES)

    def test_refused_calls_are_counted_by_code(self) -> None:
        series = 'evenpack_errors_total{code="ALREADY_EXISTS"}'
        request = api.CreateJobRequest(name="job", spec=job_specs.small_spec())
        self.refused(partial(self.server.stub.CreateJob, request))
        before = self.server.metric(series)
        self.refused(partial(self.server.stub.CreateJob, request))
        self.assertEqual(self.server.metric(series), before + 1)


class BoundTest(RefusalTest):
    def test_a_server_holds_so_many_jobs(self) -> None:
        with ServerProcess("--max-jobs", "2") as server:
            for name in "ab":
                local_client.create(server, name, job_specs.small_spec())
            request = api.CreateJobRequest(name="c", spec=job_specs.small_spec())
            expected = Refusal(
                "RESOURCE_EXHAUSTED",
                ("jobs: there are 2, as many as this server holds",),
                "TOO_MANY_JOBS",
                {"limit": "2"},
                quota="jobs",
            )
            error = self.refused(partial(server.stub.CreateJob, request))
            self.check(error, expected, type(request))
            server.stub.DeleteJob(api.DeleteJobRequest(name="a"))
            local_client.create(server, "c", job_specs.small_spec())

    def test_jobs_are_listed_by_pages(self) -> None:
        with ServerProcess() as server:
            for number in (3, 1, 4, 0, 2):
                local_client.create(server, f"job-{number}", job_specs.small_spec())
            pages, token = [], ""
            while True:
                request = api.ListJobsRequest(page_size=2, page_token=token)
                page = server.stub.ListJobs(request)
                pages.append([job.name for job in page.jobs])
                token = page.next_page_token
                if not token:
                    break
            expected = [["job-0", "job-1"], ["job-2", "job-3"], ["job-4"]]
            self.assertEqual(pages, expected)


if __name__ == "__main__":
    unittest.main()
