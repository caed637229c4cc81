"""A node's ranks follow their steps through its plan agent, whatever is killed."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import unittest
from collections.abc import Sequence
from pathlib import Path

import grpc
import health_client
import job_specs
import local_client
import reflection_client
import step_checks
from agent_process import WORKER, AgentProcess
from call_error import error_of
from child_process import wait_until
from evenpack.v1 import job_pb2
from evenpack.v1 import packing_service_pb2 as api
from health_client import NOT_SERVING, SERVING
from server_process import ServerProcess
from worker_process import RankProcess, subscription

DOCUMENTS = 1200
CONTEXT = 2
SHARDINGS = ("PER_SEQUENCE", "PER_DOCUMENT", "ADAPTIVE", "CONTIGUOUS", "HYBRID")


def views(dp_rank: int = 0) -> dict[str, api.Subscribe]:
    """A subscription for the whole DP rank, and one for each of its CP ranks."""
    asked = {"whole": api.Subscribe(job="job", dp_rank=dp_rank)}
    for cp_rank in range(CONTEXT):
        asked[f"cp-{cp_rank}"] = api.Subscribe(
            job="job", dp_rank=dp_rank, cp_rank=cp_rank
        )
    return asked


def follow_all(address: str, asked: dict[str, api.Subscribe]) -> dict[str, list[bytes]]:
    """What each of them is sent, to the end of the job."""
    ranks = [subscription(name, each, "received") for name, each in asked.items()]
    with RankProcess(address, ranks) as process:
        followed = process.await_all()
    for name, each in followed.items():
        if each.error is not None or each.drained is None:
            raise AssertionError(f"{name}: {each.error}")
    return {name: each.raw_steps for name, each in followed.items()}


def filled_job(server: ServerProcess, spec: job_pb2.JobSpec) -> None:
    """A job that has all its documents."""
    local_client.create(server, "job", spec)
    local_client.fill(server, "job", job_specs.STREAMS, DOCUMENTS)


class SameBytesTest(unittest.TestCase):
    def test_every_view_is_what_the_server_sends(self) -> None:
        for sharding in SHARDINGS:
            spec = job_specs.small_spec(roomy=True)
            spec.sharding = job_pb2.Sharding.Value(f"SHARDING_{sharding}")
            if sharding == "CONTIGUOUS":
                spec.consumer_layout.layout = job_pb2.LAYOUT_RING_LLAMA3
            with self.subTest(sharding), ServerProcess() as server:
                filled_job(server, spec)
                direct = follow_all(server.grpc_address, views(1))
                with AgentProcess(server.grpc_address) as agent:
                    shared = follow_all(agent.grpc_address, views(1))
                self.assertGreater(len(direct["whole"]), 10)
                self.assertEqual(shared, direct)

    def test_so_are_token_ids_by_value(self) -> None:
        spec = job_specs.small_spec(["web"], data=1, roomy=True)
        spec.payload_mode = job_pb2.PAYLOAD_MODE_BY_VALUE
        lengths = [1 + 37 * i % 900 for i in range(300)]
        with ServerProcess() as server:
            local_client.create(server, "job", spec)
            local_client.ingest(
                server,
                local_client.opening("job", "web"),
                local_client.batch(
                    length=lengths,
                    token_ids=b"".join(
                        token.to_bytes(4, "little") for token in range(sum(lengths))
                    ),
                ),
                local_client.end_of_stream(len(lengths)),
            )
            direct = follow_all(server.grpc_address, views())
            with AgentProcess(server.grpc_address) as agent:
                self.assertEqual(follow_all(agent.grpc_address, views()), direct)


class LayoutTest(unittest.TestCase):
    """Steps that were decided before the job got another layout."""

    def outcome(
        self, address: str, layout: job_pb2.Layout.ValueType
    ) -> tuple[list[bytes], object]:
        """Steps, and the error's code, reason and message."""
        asked = api.Subscribe(job="job", cp_rank=0, from_step=0, layout=layout)
        ranks = [subscription("one", asked, "none", steps=3)]
        with RankProcess(address, ranks) as process:
            followed = process.await_all()["one"]
        error = followed.error
        said = error and (error.code, error.reason, error.message)
        return followed.raw_steps, said

    def test_are_for_nobody_who_asks_for_that_one(self) -> None:
        server = self.enterContext(ServerProcess())
        spec = job_specs.small_spec(data=1, roomy=True)
        filled_job(server, spec)
        spec.consumer_layout.layout = job_pb2.LAYOUT_TE_THD
        server.stub.UpdateJob(api.UpdateJobRequest(name="job", spec=spec))
        agent = self.enterContext(AgentProcess(server.grpc_address))
        for layout, steps in (
            (job_pb2.LAYOUT_UNSPECIFIED, 3),
            (job_pb2.LAYOUT_TE_THD, 0),
        ):
            direct = self.outcome(server.grpc_address, layout)
            self.assertEqual(len(direct[0]), steps)
            self.assertEqual(self.outcome(agent.grpc_address, layout), direct)
        self.assertIn("step 0's", str(direct[1]))


class SharingTest(unittest.TestCase):
    def await_connected(self, agent: AgentProcess) -> None:
        wait_until(
            lambda: agent.metric("evenpack_agent_upstream_connected") == 1,
            "the feed has its call",
        )

    def test_64_ranks_are_one_subscription_at_the_server(self) -> None:
        server = self.enterContext(ServerProcess())
        local_client.create(server, "job", job_specs.small_spec(data=1, roomy=True))
        agent = self.enterContext(AgentProcess(server.grpc_address))
        asked = {
            f"{rank}": api.Subscribe(
                job="job", cp_rank=rank % CONTEXT, subscriber=f"rank {rank}"
            )
            for rank in range(64)
        }
        ranks = [
            subscription(name, each, "durable" if name == "0" else "received")
            for name, each in asked.items()
        ]
        process = self.enterContext(RankProcess(agent.grpc_address, ranks))
        process.await_subscribed()
        self.assertEqual(agent.metric("evenpack_agent_local_subscribers"), 64)
        self.assertEqual(agent.metric("evenpack_agent_upstream_subscriptions"), 1)
        wait_until(
            lambda: server.metric('evenpack_job_subscribers{job="job"}') == 1,
            "the server has one subscription",
        )
        local_client.fill(server, "job", job_specs.STREAMS, DOCUMENTS)
        followed = process.await_all()
        decided = local_client.get_job(server, "job").next_step
        for name, each in followed.items():
            self.assertIsNone(each.error, name)
            self.assertEqual(len(each.steps), decided)
        self.assertEqual(followed["0"].durable_steps, decided)
        self.assertEqual(agent.metric("evenpack_agent_steps_received_total"), decided)
        # Nobody is left, so nothing is kept.
        wait_until(
            lambda: agent.metric("evenpack_agent_upstream_subscriptions") == 0,
            "the feed is ended",
        )
        self.assertEqual(agent.metric("evenpack_agent_held_bytes"), 0)

    def test_two_agents_of_a_machine_leave_each_other_their_subscriptions(self) -> None:
        server = self.enterContext(ServerProcess())
        local_client.create(server, "job", job_specs.small_spec(data=1, roomy=True))
        processes = []
        for cp_rank in range(CONTEXT):
            agent = self.enterContext(AgentProcess(server.grpc_address))
            asked = subscription(
                "one", api.Subscribe(job="job", cp_rank=cp_rank), "received"
            )
            process = self.enterContext(RankProcess(agent.grpc_address, [asked]))
            process.await_subscribed()
            self.await_connected(agent)
            processes.append(process)
        local_client.fill(server, "job", job_specs.STREAMS, DOCUMENTS)
        decided = local_client.get_job(server, "job").next_step
        for process in processes:
            followed = process.await_end("one")
            self.assertIsNone(followed.error)
            self.assertEqual(len(followed.steps), decided)

    def test_one_that_lags_holds_nobody_up(self) -> None:
        server = self.enterContext(ServerProcess())
        filled_job(server, job_specs.small_spec(data=1, roomy=True))
        agent = self.enterContext(
            AgentProcess(server.grpc_address, "--max-steps-ahead", "4")
        )
        ranks = [
            subscription("slow", api.Subscribe(job="job", cp_rank=1), pause_after=1),
            subscription("quick", api.Subscribe(job="job", cp_rank=0), "received"),
        ]
        process = self.enterContext(RankProcess(agent.grpc_address, ranks))
        process.await_steps("slow", 1)
        quick = process.await_end("quick")
        decided = local_client.get_job(server, "job").next_step
        self.assertEqual(len(quick.steps), decided)
        self.assertLessEqual(agent.metric("evenpack_agent_held_steps"), 4)
        process.allow(None)
        slow = process.await_end("slow")
        self.assertIsNone(slow.error)
        step_checks.check_chain(slow.steps)
        self.assertEqual(len(slow.steps), decided)
        self.assertGreater(
            agent.metric("evenpack_agent_steps_fetched_total"), decided / 2
        )
        self.assertEqual(slow.durable_steps, decided)


class KillTest(unittest.TestCase):
    """Nothing is lost, and nothing comes twice."""

    def setUp(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.store = f"sqlite:{Path(folder) / 'store'}"
        self.socket = f"unix:{Path(folder) / 'agent.sock'}"

    def serve(self, listen: str = "127.0.0.1:0") -> ServerProcess:
        return self.enterContext(
            ServerProcess("--store", self.store, listen=listen, http_listen="")
        )

    def fill_job(self, server: ServerProcess) -> None:
        """A job that lets no step go, however far the durable marks are ahead."""
        spec = job_specs.small_spec(data=1, roomy=True)
        spec.retention.checkpoints = 1000
        filled_job(server, spec)

    def ranks(self, address: str) -> RankProcess:
        """One that makes durable, two that only receive; all in small strides."""
        asked = [
            subscription(
                name,
                api.Subscribe(
                    job="job",
                    cp_rank=cp_rank,
                    subscriber=name,
                    # Not after what the first of them has made durable already.
                    from_step=0,
                    credits=2,
                ),
                marks,
                reconnects=True,
                paced=True,
            )
            for name, cp_rank, marks in (
                ("saves", 0, "durable"),
                ("same", 0, "received"),
                ("other", 1, "received"),
            )
        ]
        return self.enterContext(RankProcess(address, asked))

    def check(self, process: RankProcess, server: ServerProcess) -> None:
        followed = process.await_all()
        decided = local_client.get_job(server, "job").next_step
        for name, each in followed.items():
            self.assertIsNone(each.error, name)
            step_checks.check_order(each.steps)
            self.assertEqual(len(each.steps), decided, name)
            self.assertIsNotNone(each.drained, name)
        self.assertEqual(
            list(local_client.get_job(server, "job").durable_steps_per_rank), [decided]
        )

    def await_strides(self, process: RankProcess, steps: int) -> None:
        process.allow(steps)
        for name, each in process.followed.items():
            process.await_steps(name, steps)
            self.assertFalse(each.ended, each.error)

    def test_the_agent_is_killed(self) -> None:
        server = self.serve()
        self.fill_job(server)
        agent = self.enterContext(
            AgentProcess(server.grpc_address, listen=self.socket, http=False)
        )
        process = self.ranks(agent.grpc_address)
        for stride in (3, 6):
            self.await_strides(process, stride)
            agent.kill()
            agent = self.enterContext(
                AgentProcess(server.grpc_address, listen=self.socket, http=False)
            )
        process.allow(None)
        self.check(process, server)
        self.assertGreaterEqual(process.followed["saves"].reconnects, 2)

    def test_the_server_is_killed(self) -> None:
        server = self.serve()
        self.fill_job(server)
        agent = self.enterContext(AgentProcess(server.grpc_address, listen=self.socket))
        process = self.ranks(agent.grpc_address)
        self.await_strides(process, 3)
        # All that is decided and fits is held by then, so the ranks go on without it.
        wait_until(
            lambda: agent.metric("evenpack_agent_steps_received_total") >= 12,
            "the agent is ahead",
        )
        server.kill()
        wait_until(
            lambda: agent.metric("evenpack_agent_upstream_connected") == 0,
            "the agent has noticed",
        )
        self.await_strides(process, 10)
        server = self.serve(server.grpc_address)
        process.allow(None)
        self.check(process, server)
        # They have noticed nothing.
        self.assertEqual(
            [each.reconnects for each in process.followed.values()], [0] * 3
        )
        self.assertGreaterEqual(
            agent.metric("evenpack_agent_upstream_reconnects_total"), 1
        )

    def test_the_server_is_killed_and_a_rank_lacks_what_the_agent_holds_no_more(
        self,
    ) -> None:
        server = self.serve()
        self.fill_job(server)
        agent = self.enterContext(
            AgentProcess(server.grpc_address, "--max-steps-ahead", "4")
        )
        ranks = [
            subscription("slow", api.Subscribe(job="job", cp_rank=1), pause_after=1),
            subscription("quick", api.Subscribe(job="job", cp_rank=0), "received"),
        ]
        process = self.enterContext(RankProcess(agent.grpc_address, ranks))
        process.await_steps("slow", 1)
        decided = len(process.await_end("quick").steps)
        server.kill()
        wait_until(
            lambda: agent.metric("evenpack_agent_upstream_connected") == 0,
            "the agent has noticed",
        )
        process.allow(None)
        with self.assertRaises(grpc.RpcError):
            agent.stub.GetJob(api.GetJobRequest(name="job"))
        self.serve(server.grpc_address)
        slow = process.await_end("slow")
        self.assertIsNone(slow.error)
        step_checks.check_chain(slow.steps)
        self.assertEqual(len(slow.steps), decided)


class ProgramTest(unittest.TestCase):
    def test_without_a_server_calls_fail_and_the_agent_serves(self) -> None:
        agent = self.enterContext(AgentProcess("127.0.0.1:1"))
        self.assertEqual(health_client.check(agent, ""), SERVING)
        with self.assertRaises(grpc.RpcError) as caught:
            agent.stub.GetJob(api.GetJobRequest(name="job"))
        self.assertEqual(error_of(caught.exception).code, "UNAVAILABLE")
        asked = subscription("one", api.Subscribe(job="job"), "none")
        with RankProcess(agent.grpc_address, [asked]) as process:
            error = process.await_all()["one"].error
        assert error is not None
        self.assertEqual(error.code, "UNAVAILABLE")

    def test_reflection_is_of_the_server(self) -> None:
        server = self.enterContext(ServerProcess())
        agent = self.enterContext(AgentProcess(server.grpc_address))
        listed = reflection_client.services(agent.channel)
        self.assertEqual(listed, reflection_client.services(server.channel))
        self.assertIn(health_client.SERVICE, listed)

    def test_a_drain_ends_subscriptions(self) -> None:
        server = self.enterContext(ServerProcess())
        local_client.create(server, "job", job_specs.small_spec())
        agent = self.enterContext(AgentProcess(server.grpc_address))
        asked = subscription("one", api.Subscribe(job="job"), "none")
        process = self.enterContext(RankProcess(agent.grpc_address, [asked]))
        process.await_subscribed()
        health = health_client.watch(agent, health_client.SERVICE)
        self.assertEqual(next(health), SERVING)
        agent.signal(signal.SIGTERM)
        self.assertEqual(next(health), NOT_SERVING)
        error = process.await_end("one").error
        assert error is not None
        self.assertEqual((error.code, error.reason), ("UNAVAILABLE", "DRAINING"))
        self.assertEqual(agent.wait(), 0)

    def refused(self, *flags: str) -> str:
        done = subprocess.run(
            [WORKER, "--agent", *flags],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
        self.assertIn(done.returncode, (1, 2), done.stderr)
        return done.stderr

    def test_flags_that_it_does_not_take(self) -> None:
        cases: Sequence[tuple[list[str], str]] = (
            (["--server", "a:1"], "--listen: missing"),
            (["--listen", "a:1"], "--server: missing"),
            (["--server", "a:1", "--listen", "nowhere"], "listen: 'nowhere'"),
            (["--server", "a:1", "--listen", "unix:x"], "listen: 'unix:x'"),
            (["--server", "a:1", "--listen", "0.0.0.0:0"], "--insecure"),
            (
                ["--server", "a:1", "--listen", "127.0.0.1:0", "--tls-ca", "/none"],
                "--tls-ca: '/none'",
            ),
            (
                ["--server", "a:1", "--listen", "unix:/no/folder/socket"],
                "can't listen on unix:/no/folder/socket",
            ),
            (
                ["--server", "a:1", "--listen", "127.0.0.1:0", "--http-listen", "x"],
                "http-listen: 'x'",
            ),
        )
        for flags, says in cases:
            self.assertIn(says, self.refused(*flags))


if __name__ == "__main__":
    unittest.main()
