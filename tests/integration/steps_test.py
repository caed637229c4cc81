"""What a step holds, however it is asked for, and what is reported back."""

from __future__ import annotations

import unittest
from collections import Counter

import job_specs
import local_client
import step_checks
from evenpack.v1 import job_pb2, step_pb2
from evenpack.v1 import packing_service_pb2 as api
from local_client import subscribing
from server_process import THROUGH_AGENT, ServerProcess

DOCUMENTS = 300
RANKS = 2
CONTEXT = 2


def get_step(server: ServerProcess, **fields: int) -> step_pb2.Step:
    """One step of the job."""
    return server.stub.GetStep(api.GetStepRequest(job="job", **fields)).step


class StepsTest(unittest.TestCase):
    spec = job_specs.small_spec(data=RANKS, context=CONTEXT, roomy=True)

    def setUp(self) -> None:
        self.server = self.enterContext(ServerProcess())
        local_client.create(self.server, "job", self.spec)
        local_client.fill(self.server, "job", job_specs.STREAMS, DOCUMENTS)
        self.decided = local_client.get_job(self.server, "job").next_step

    def steps(self, **fields: int) -> list[step_pb2.Step]:
        return local_client.steps_of(self.server, "job", **fields)

    def test_get_step_is_what_was_streamed(self) -> None:
        for dp_rank in range(RANKS):
            for view in ({}, *({"cp_rank": rank} for rank in range(CONTEXT))):
                streamed = self.steps(dp_rank=dp_rank, **view)
                self.assertEqual(len(streamed), self.decided)
                for step in streamed:
                    got = get_step(
                        self.server, step=step.index, dp_rank=dp_rank, **view
                    )
                    self.assertEqual(got, step)

    def test_the_slices_of_all_ranks_are_the_micro_batch(self) -> None:
        views = [self.steps(cp_rank=rank) for rank in range(CONTEXT)]
        for parts in zip(*views, strict=True):
            for micro_batches in zip(
                *(step.micro_batches for step in parts), strict=True
            ):
                held: Counter[tuple[int, int]] = Counter()
                for rank, micro_batch in enumerate(micro_batches):
                    slices = micro_batch.slices
                    self.assertEqual(slices.cp_rank, rank)
                    self.assertEqual(slices.digest, micro_batch.slices.digest)
                    tokens = 0
                    for document, begin, end in zip(
                        slices.document, slices.begin, slices.end, strict=True
                    ):
                        held.update((document, at) for at in range(begin, end))
                        tokens += end - begin
                    self.assertEqual(tokens, slices.tokens)
                    self.assertEqual(tokens, micro_batch.plan.rank_tokens[rank])
                lengths = micro_batches[0].documents.length
                expected = {
                    (document, at)
                    for document, length in enumerate(lengths)
                    for at in range(length)
                }
                self.assertEqual(held, Counter(expected))

    def test_the_figures_of_a_step_add_up(self) -> None:
        for parts in zip(
            *(self.steps(dp_rank=rank) for rank in range(RANKS)), strict=True
        ):
            held = [each for part in parts for each in part.micro_batches]
            workloads = [each.workload_ns for each in held]
            self.assertEqual(
                parts[0].totals,
                step_pb2.StepTotals(
                    tokens=sum(each.tokens for each in held),
                    padding=sum(each.padding for each in held),
                    loss_tokens=sum(each.loss_tokens for each in held),
                    sum_squared_lengths=sum(
                        length * length
                        for each in held
                        for length in each.documents.length
                    ),
                    max_workload_ns=max(workloads),
                    total_workload_ns=sum(workloads),
                    micro_batches=len(held),
                ),
            )
            for each in held:
                self.assertEqual(each.tokens, sum(each.documents.length))
                self.assertLessEqual(each.tokens + each.padding, 6144)

    def test_columns_of_documents_come_back(self) -> None:
        spec = job_specs.small_spec(["web"], data=1, micro_batches=1, window=100)
        spec.split_overlong = True
        local_client.create(self.server, "columns", spec)
        local_client.ingest(
            self.server,
            local_client.opening("columns", "web"),
            local_client.batch(
                length=[60, 400, 50],
                id=[7, 8, 9],
                loss_tokens=[0, 390, 50],
                source=[1, 2, 3],
            ),
            local_client.end_of_stream(3),
        )
        steps = local_client.steps_of(self.server, "columns")
        labels: dict[int, set[tuple[int, int]]] = {}
        loss: Counter[int] = Counter()
        for step in steps:
            for micro_batch in step.micro_batches:
                held = micro_batch.documents
                for i, sequence in enumerate(held.sequence):
                    labels.setdefault(sequence, set()).add((held.id[i], held.source[i]))
                    tokens = held.loss_tokens or held.length
                    loss[sequence] += tokens[i]
        self.assertEqual(labels, {0: {(7, 1)}, 1: {(8, 2)}, 2: {(9, 3)}})
        self.assertEqual(loss, Counter({0: 0, 1: 390, 2: 50}))
        pieces = step_checks.pieces_of(steps)
        self.assertEqual(
            sorted(pieces[0, 1]), [(0, 150, 400), (150, 150, 400), (300, 100, 400)]
        )

    def test_durable_marks_are_cumulative_and_never_fall(self) -> None:
        def acknowledge(rank: int, step: int) -> int:
            request = api.AcknowledgeRequest(job="job", dp_rank=rank, step=step)
            return self.server.stub.Acknowledge(request).durable_steps

        self.assertEqual(acknowledge(0, 4), 5)
        self.assertEqual(acknowledge(0, 2), 5)
        job = local_client.get_job(self.server, "job")
        self.assertEqual((job.durable_steps, job.oldest_step), (0, 0))
        self.assertEqual(acknowledge(1, 3), 4)
        job = local_client.get_job(self.server, "job")
        self.assertEqual((job.durable_steps, job.oldest_step), (4, 4))
        self.assertEqual(list(job.durable_steps_per_rank), [5, 4])
        # A mark for a step that is let go changes nothing.
        self.assertEqual(acknowledge(1, 0), 4)
        for rank, durable in enumerate(job.durable_steps_per_rank):
            asked = subscribing("job", dp_rank=rank, credits=1)
            answer = local_client.stream_steps(self.server, asked)
            self.assertEqual(answer[0].subscribed.durable_steps, durable)
            self.assertEqual(answer[1].step.index, durable)

    def test_retained_checkpoints_keep_their_steps(self) -> None:
        spec = job_specs.small_spec(data=RANKS, roomy=True)
        spec.retention.checkpoints = 3
        local_client.create(self.server, "retained", spec)
        local_client.fill(self.server, "retained", job_specs.STREAMS, DOCUMENTS)
        oldest = []
        for step in (1, 3, 5, 7):
            local_client.acknowledge(self.server, "retained", step, RANKS)
            job = local_client.get_job(self.server, "retained")
            self.assertEqual(job.durable_steps, step + 1)
            oldest.append(job.oldest_step)
        self.assertEqual(oldest, [0, 0, 2, 4])

    def test_reported_latencies_meet_their_predictions(self) -> None:
        steps = self.steps(dp_rank=1)[:3]
        reported = [
            (step.index, each.index, each.workload_ns)
            for step in steps
            for each in step.micro_batches
        ]
        answer = self.server.stub.ReportLatency(
            api.ReportLatencyRequest(
                job="job",
                dp_rank=1,
                micro_batches=[
                    api.MicroBatchLatency(
                        step=step, micro_batch=index, forward_ns=2 * predicted
                    )
                    for step, index, predicted in reported
                ],
                step_wait_seconds=1.5,
                steps_taken=3,
            )
        )
        self.assertEqual(
            list(answer.predicted_forward_ns), [each[2] for each in reported]
        )
        ratio = 'evenpack_job_measured_over_predicted_ratio_{}{{job="job"}}'
        count = self.server.metric(ratio.format("count"))
        self.assertEqual(count, len(reported))
        self.assertEqual(self.server.metric(ratio.format("sum")), 2 * count)
        wait = 'evenpack_job_step_wait_seconds_total{job="job"}'
        self.assertEqual(self.server.metric(wait), 1.5)
        self.assertEqual(
            self.server.metric('evenpack_job_steps_taken_total{job="job"}'), 3
        )

    @unittest.skipIf(THROUGH_AGENT, "the server has but the agent's subscription")
    def test_credits_bound_what_is_under_way(self) -> None:
        asked = subscribing("job", credits=3)
        with local_client.open_steps(self.server, asked) as call:
            call.receive()
            for first in (0, 3):
                got = [call.receive().step.index for _ in range(3)]
                self.assertEqual(got, [first, first + 1, first + 2])
                unused = 'evenpack_job_unused_credits{job="job"}'
                self.assertEqual(self.server.metric(unused), 0)
                mark = api.Received(step=first + 2)
                call.send(api.StreamStepsRequest(received=mark))
            call.close()
            rest = call.rest()
            self.assertEqual([each.step.index for each in rest], [6, 7, 8])

    def test_layouts_pad_what_ranks_receive(self) -> None:
        spec = job_specs.small_spec(data=1, context=CONTEXT)
        spec.consumer_layout.layout = job_pb2.LAYOUT_MEGATRON_THD
        spec.consumer_layout.max_documents = 20
        local_client.create(self.server, "padded", spec)
        local_client.fill(self.server, "padded", job_specs.STREAMS, 60)
        asked = {"layout": job_pb2.LAYOUT_MEGATRON_THD}
        steps = local_client.steps_of(self.server, "padded", **asked)
        self.assertTrue(steps)
        step_checks.check_chain(steps)
        for step in steps:
            for each in step.micro_batches:
                lengths = each.documents.length
                self.assertLessEqual(len(lengths), 20)
                padding = sum(-length % (2 * CONTEXT) for length in lengths)
                self.assertEqual(each.padding, padding)
                self.assertEqual(each.plan.pad_multiple, 2 * CONTEXT)


class BalancedStepsTest(StepsTest):
    spec = job_specs.balanced_spec(data=RANKS, roomy=True)


if __name__ == "__main__":
    unittest.main()
