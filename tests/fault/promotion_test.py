"""A standby database that is promoted in place of the primary, under two servers.

Where it lacks commits that were acknowledged, nobody who is ahead of it is served
another history: who presents a digest that it doesn't have is told DATA_LOSS, documents
that it doesn't have are asked for again. Where the primary waited for it nothing is
lost, whatever became of either.
"""

from __future__ import annotations

import signal
import time
import unittest

import documents
import grpc
import job_specs
import kill_history
import local_client
import step_checks
from call_error import CallError, error_of
from child_process import wait_until
from evenpack.v1 import packing_service_pb2 as api
from evenpack.v1 import packing_service_pb2_grpc as rpc
from evenpack.v1 import step_pb2
from leader_channel import LeaderChannel
from mortal_server import RECONNECT, Position
from postgresql_server import PostgresqlServer
from producer import Stream
from server_process import ServerProcess
from standby_server import StandbyServer, shared_target
from worker_process import ProducerProcess, RankProcess, subscription

RANKS = 2
# Documents of each stream: those that the standby has, those that it never gets, and
# all.
KNOWN = 400
LOST = 800
COUNT = 1200
# Other documents than those that are lost.
OTHER_SEED = 7
STEPS_AHEAD = 8
DOCUMENTS_A_STEP = 40
STEPS = 40


class PromotionTest(unittest.TestCase):
    def setUp(self) -> None:
        # Programs die here, and not the machine: nobody need wait for a disk.
        self.primary = self.enterContext(PostgresqlServer(durable=False))
        self.primary.start()
        standby = StandbyServer(self.primary, durable=False)
        self.standby = self.enterContext(standby)
        self.standby.start()
        self.servers: list[ServerProcess] = []
        self.addresses = ""

    def start_servers(self) -> None:
        target = shared_target(self.primary, self.standby)
        for _ in range(2):
            server = ServerProcess("--store", target, http_listen="")
            self.servers.append(self.enterContext(server))
        self.addresses = ",".join(each.grpc_address for each in self.servers)
        self.leader = self.enterContext(LeaderChannel(self.addresses, RECONNECT))

    def stub(self, channel: grpc.Channel) -> rpc.PackingServiceStub:
        return rpc.PackingServiceStub(channel)

    def ingest(
        self, stream: str, seed: int, first: int, end: int, *, ends: bool = False
    ) -> int:
        """Sends documents; how many are accepted then."""
        batch = documents.batch_of(seed, first, end - first)
        sent = [local_client.opening("job", stream), api.IngestRequest(batch=batch)]
        if ends:
            sent.append(local_client.end_of_stream(end))
        answers = self.leader.call(
            lambda channel: list(self.stub(channel).Ingest(iter(sent)))
        )
        return answers[-1].next_sequence

    def ingest_all(self, first: int, end: int, *seeds: int, ends: bool = False) -> None:
        for stream, seed in zip(job_specs.STREAMS, seeds, strict=True):
            self.assertEqual(self.ingest(stream, seed, first, end, ends=ends), end)

    def follow(
        self, rank: int, steps: int, after: step_pb2.Step | None = None
    ) -> list[step_pb2.Step]:
        """So many steps of a rank, behind the one that it presents."""
        fields: dict[str, object] = (
            {}
            if after is None
            else {
                "from_step": after.index + 1,
                "last_digest": after.digest,
            }
        )
        asked = local_client.subscribing("job", dp_rank=rank, credits=steps, **fields)
        answers = self.leader.call(
            lambda channel: list(self.stub(channel).StreamSteps(iter([asked])))
        )
        return [each.step for each in answers if each.HasField("step")]

    def refusal(self, rank: int, after: step_pb2.Step) -> CallError:
        """Why a rank is not served that presents this step."""
        with self.assertRaises(grpc.RpcError) as caught:
            self.follow(rank, 1, after)
        return error_of(caught.exception)

    def fail_over(self) -> None:
        """The primary dies, and the standby takes its place."""
        self.primary.stop("immediate")
        self.standby.promote()

    def check_nobody_follows_another_history(self, *, with_memory: bool) -> None:
        self.start_servers()
        self.servers[0].stub.CreateJob(
            api.CreateJobRequest(name="job", spec=job_specs.small_spec(roomy=True))
        )
        self.ingest_all(0, KNOWN, 0, 1)
        known = self.follow(0, 5)
        self.standby.await_caught_up()
        held = local_client.get_job(self.leading(), "job").next_step
        self.standby.stop_following()
        self.ingest_all(KNOWN, LOST, 0, 1)
        gone = local_client.get_job(self.leading(), "job").next_step
        self.assertGreater(gone, held)
        ahead = self.follow(1, gone)[-1]
        behind = self.follow(0, held - 5, known[-1])
        open_call = local_client.open_steps(
            self.leading(),
            local_client.subscribing(
                "job",
                dp_rank=1,
                from_step=ahead.index + 1,
                last_digest=ahead.digest,
                credits=1,
            ),
        )
        self.enterContext(open_call)
        open_call.receive()
        if not with_memory:
            for server in self.servers:
                server.kill()
        self.fail_over()
        if with_memory:
            with self.assertRaises(grpc.RpcError) as caught:
                open_call.receive()
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNAVAILABLE)
        else:
            self.start_servers()
        lost = ("DATA_LOSS", "HISTORY_DIFFERS")
        refused = self.refusal(1, ahead)
        self.assertEqual((refused.code, refused.reason), lost)
        # What was accepted and is gone is asked for again.
        for seed, stream in enumerate(job_specs.STREAMS):
            with self.assertRaises(grpc.RpcError) as caught:
                self.ingest(stream, seed, LOST, LOST + 1)
            error = error_of(caught.exception)
            self.assertEqual(
                (error.code, error.reason), ("OUT_OF_RANGE", "SEQUENCE_GAP")
            )
            self.assertEqual(error.metadata["next_sequence"], f"{KNOWN}")
        self.ingest_all(KNOWN, COUNT, OTHER_SEED, OTHER_SEED + 1, ends=True)
        refused = self.refusal(1, ahead)
        self.assertEqual((refused.code, refused.reason), lost)
        last = behind[-1]
        rest = self.leading_steps(last)
        step_checks.check_chain([*known, *behind, *rest])
        self.assertGreater(rest[-1].index, ahead.index)

    def leading(self) -> ServerProcess:
        """The server that leads the job."""

        def of_leader(channel: grpc.Channel) -> str:
            self.stub(channel).GetJob(api.GetJobRequest(name="job"))
            return self.leader.address

        address = self.leader.call(of_leader)
        return next(each for each in self.servers if each.grpc_address == address)

    def leading_steps(self, last: step_pb2.Step) -> list[step_pb2.Step]:
        """All of rank 0's behind one."""
        end = local_client.get_job(self.leading(), "job").next_step
        return self.follow(0, end - last.index - 1, last)

    def test_servers_that_knew_better_serve_no_other_history(self) -> None:
        self.check_nobody_follows_another_history(with_memory=True)

    def test_nor_do_servers_that_know_nothing(self) -> None:
        self.check_nobody_follows_another_history(with_memory=False)

    def start_clients(self) -> tuple[RankProcess, ProducerProcess]:
        """Paced ranks, and producers of all that STEPS steps take, and more."""
        count = DOCUMENTS_A_STEP * (STEPS + 2 * STEPS_AHEAD)
        asked = [
            subscription(
                f"{rank}",
                api.Subscribe(job="job", dp_rank=rank),
                reconnects=True,
                paced=True,
            )
            for rank in range(RANKS)
        ]
        ranks = RankProcess(self.addresses, asked, RECONNECT)
        streams = [
            Stream(name, "job", name, seed, count, batch=64, reconnects=True)
            for seed, name in enumerate(job_specs.STREAMS)
        ]
        producers = ProducerProcess(self.addresses, streams, RECONNECT)
        return self.enterContext(ranks), self.enterContext(producers)

    def test_a_standby_that_the_primary_waits_for_loses_nothing(self) -> None:
        self.standby.wait_for()
        self.start_servers()
        spec = job_specs.small_spec(steps_ahead=STEPS_AHEAD)
        self.servers[0].stub.CreateJob(api.CreateJobRequest(name="job", spec=spec))
        ranks, producers = self.start_clients()
        ranks.allow(STEPS)
        ranks.await_steps("0", STEPS // 2)
        leader = self.leading()
        # Commits are on the primary's disk, and the server gives their connection up:
        # that must not make them stand.
        self.standby.signal(signal.SIGSTOP)
        # There is something to commit, however far the ranks were.
        ranks.allow(None)
        wait_until(lambda: "database lost" in leader.stderr(), "a notice")
        self.primary.stop("immediate")
        self.standby.signal(signal.SIGCONT)
        self.standby.promote()
        at = time.monotonic_ns()
        held = local_client.get_job(self.leading(), "job")
        sent = producers.await_all()
        followed = ranks.await_all()
        history = [*producers.history, *ranks.history]
        kill_history.check(history, [Position(at, held)])
        self.assertEqual([each.error for each in sent.values()], [None] * len(sent))
        self.assertEqual([each.error for each in followed.values()], [None] * RANKS)
        every = [step for rank in followed.values() for step in rank.steps]
        streams = [
            (seed, each.next_sequence or 0) for seed, each in enumerate(sent.values())
        ]
        step_checks.check_exactly_once(every, streams)
        step_checks.check_ranks_agree([each.steps for each in followed.values()])


if __name__ == "__main__":
    unittest.main()
