"""Ranks that don't read, hang or die: others go on to the job's bound, and no further.

Producers are held back then, the server's memory stays as it is, other jobs aren't
touched, and all goes on once the rank is back.
"""

from __future__ import annotations

import os
import signal
import unittest

import documents
import grpc
import job_specs
import local_client
import step_checks
from call_error import error_of
from child_process import wait_until
from evenpack.v1 import job_pb2, step_pb2
from evenpack.v1 import packing_service_pb2 as api
from producer import Stream
from rank import Subscription
from server_process import ServerProcess
from worker_process import ProducerProcess, RankProcess, subscription

RANKS = 2
# Steps that may be decided beyond the last durable one.
AHEAD = 8
WINDOW = 1 << 15
BATCH = 512
# What the streams' lengths are on average, roughly.
MEAN_LENGTH = 400
# Less than 64 bytes for each document that is held back, which is what one takes.
# A sanitizer's allocations are larger by the factor.
MEMORY_MARGIN = (6 << 20) * int(os.environ.get("EVENPACK_MEMORY_FACTOR", "1"))
# A job that stands still has at most this many documents: its steps, its buffer (four
# global batches), a message that went beyond.
MOST_ACCEPTED = (2 * AHEAD + 4 + 4) * RANKS * WINDOW // MEAN_LENGTH + BATCH


def subscription_of(rank: int, pause_after: int | None = None) -> Subscription:
    """A rank that marks steps durable."""
    asked = api.Subscribe(job="job", dp_rank=rank)
    return subscription(f"{rank}", asked, pause_after=pause_after)


class SlowRankTest(unittest.TestCase):
    def setUp(self) -> None:
        self.server = self.enterContext(ServerProcess())
        spec = job_specs.small_spec(
            ["web"],
            data=RANKS,
            micro_batches=1,
            window=WINDOW,
            steps_ahead=AHEAD,
        )
        local_client.create(self.server, "job", spec)
        local_client.create(self.server, "other", job_specs.small_spec())
        self.others = 0

    def start_rank(self, rank: int, pause_after: int | None = None) -> RankProcess:
        asked = subscription_of(rank, pause_after)
        return self.enterContext(RankProcess(self.server.grpc_address, [asked]))

    def start_producer(self, count: int) -> ProducerProcess:
        stream = Stream("web", "job", "web", 0, count, batch=BATCH, wide=True)
        process = ProducerProcess(self.server.grpc_address, [stream])
        return self.enterContext(process)

    def job(self) -> job_pb2.Job:
        return local_client.get_job(self.server, "job")

    def stands_still(self) -> job_pb2.Job | None:
        """The job, once it has decided all that it may and its buffer is full."""
        full = self.server.metric('evenpack_job_stream_full{job="job",stream="web"}')
        job = self.job()
        return job if full and job.next_step == job.durable_steps + AHEAD else None

    def let_another_job_work(self) -> None:
        """Decides and delivers a step of another job."""
        first, self.others = self.others, self.others + 100
        for seed, stream in enumerate(job_specs.STREAMS):
            batch = documents.batch_of(seed, first, 100)
            opened = local_client.opening("other", stream)
            local_client.ingest(self.server, opened, api.IngestRequest(batch=batch))
        step = local_client.get_job(self.server, "other").next_step - 1
        request = api.GetStepRequest(job="other", step=step)
        self.assertEqual(self.server.stub.GetStep(request).step.index, step)

    def assert_held_back(self, durable: int) -> job_pb2.Job:
        """The job stands still while others work, within its bounds.

        `durable`: steps that the slow rank has made durable, and no more to come.
        """
        self.let_another_job_work()
        wait_until(
            lambda: self.job().durable_steps == durable,
            f"{durable} steps are durable at both ranks",
        )
        self.assertEqual(self.job().durable_steps_per_rank[1], durable)
        before = wait_until(self.stands_still, "the job reaches its bound")
        memory = self.server.resident_bytes()
        for _ in range(5):
            self.let_another_job_work()
        after = self.job()
        self.assertEqual(after.next_step, before.next_step)
        accepted = after.streams[0].next_sequence
        self.assertEqual(accepted, before.streams[0].next_sequence)
        self.assertLess(accepted, MOST_ACCEPTED)
        self.assertLess(self.server.resident_bytes(), memory + MEMORY_MARGIN)
        return after

    def check_all(self, steps: list[list[step_pb2.Step]], count: int) -> None:
        for each in steps:
            step_checks.check_order(each)
        step_checks.check_ranks_agree(steps)
        every = [step for each in steps for step in each]
        step_checks.check_exactly_once(every, [(0, count)])

    def finish(
        self,
        producer: ProducerProcess,
        ranks: list[RankProcess],
        before: list[list[step_pb2.Step]],
        count: int,
    ) -> None:
        """All documents arrive, after the steps that a dead rank had."""
        self.assertTrue(producer.await_all()["web"].ended)
        steps = [
            earlier + process.await_all()[f"{rank}"].steps
            for rank, (process, earlier) in enumerate(zip(ranks, before, strict=True))
        ]
        self.check_all(steps, count)

    def test_a_rank_that_does_not_read(self) -> None:
        count = 150_000
        memory = self.server.resident_bytes()
        ranks = [self.start_rank(0), self.start_rank(1, pause_after=5)]
        producer = self.start_producer(count)
        held = self.assert_held_back(durable=4)
        self.assertLess(self.server.resident_bytes(), memory + MEMORY_MARGIN)
        # The other rank has all that is decided.
        ranks[0].await_steps("0", held.next_step)
        ranks[1].write_line("go on")
        self.finish(producer, ranks, [[], []], count)

    def test_a_rank_that_hangs(self) -> None:
        count = 20_000
        ranks = [self.start_rank(0), self.start_rank(1)]
        ranks[1].await_subscribed()
        ranks[1].signal(signal.SIGSTOP)
        producer = self.start_producer(count)
        held = self.assert_held_back(durable=0)
        ranks[0].await_steps("0", held.next_step)
        ranks[1].signal(signal.SIGCONT)
        self.finish(producer, ranks, [[], []], count)

    def test_a_rank_that_dies(self) -> None:
        count = 20_000
        ranks = [self.start_rank(0), self.start_rank(1, pause_after=6)]
        producer = self.start_producer(count)
        dead = ranks[1].await_steps("1", 6)
        ranks[1].kill()
        wait_until(lambda: self.job().subscribers == 1, "the dead one is gone")
        held = self.assert_held_back(self.job().durable_steps_per_rank[1])
        ranks[0].await_steps("0", held.next_step)
        # Its successor knows how far its trainer had come.
        asked = api.Subscribe(
            job="job", dp_rank=1, from_step=6, last_digest=dead[-1].digest
        )
        successor = subscription("1", asked)
        ranks[1] = self.enterContext(RankProcess(self.server.grpc_address, [successor]))
        self.finish(producer, ranks, [[], dead], count)

    def test_a_dead_connection_is_found_by_its_silence(self) -> None:
        with ServerProcess(
            "--keepalive-seconds", "1", "--keepalive-timeout-seconds", "1"
        ) as server:
            local_client.create(server, "job", job_specs.small_spec())
            one = subscription_of(0)
            with RankProcess(server.grpc_address, [one]) as process:
                process.await_subscribed()
                process.signal(signal.SIGSTOP)
                wait_until(
                    lambda: server.metric("evenpack_step_streams") == 0,
                    "the server drops the call",
                )
                process.signal(signal.SIGCONT)
                error = process.await_end("0").error
                assert error is not None
                self.assertEqual(error.code, "UNAVAILABLE")


class ObserverTest(unittest.TestCase):
    """A subscriber without durable marks holds nobody back."""

    def test_one_that_is_too_slow_is_told_so(self) -> None:
        with ServerProcess() as server:
            local_client.create(server, "job", job_specs.small_spec())
            asked = local_client.subscribing("job", credits=2, subscriber="slow")
            with local_client.open_steps(server, asked) as observer:
                self.assertTrue(observer.receive().HasField("subscribed"))
                local_client.fill(server, "job", job_specs.STREAMS, 100)
                self.assertEqual(
                    [observer.receive().step.index for _ in range(2)], [0, 1]
                )
                last = local_client.get_job(server, "job").next_step - 1
                local_client.acknowledge(server, "job", last, RANKS)
                received = api.StreamStepsRequest(received=api.Received(step=1))
                observer.send(received)
                with self.assertRaises(grpc.RpcError) as caught:
                    observer.receive()
                error = error_of(caught.exception)
                self.assertEqual(error.code, "OUT_OF_RANGE")
                self.assertEqual(error.reason, "STEP_LET_GO")
                self.assertEqual(error.metadata, {"oldest_step": f"{last + 1}"})


if __name__ == "__main__":
    unittest.main()
