"""A commit that is under way when the database goes, which then stays away for long.

The server stays, serves what is committed, and finds out what became of that commit
when it reaches the database again; or that another server leads the job by then.
"""

from __future__ import annotations

import os
import subprocess
import threading
import unittest
from dataclasses import dataclass

import documents
import grpc
import job_specs
import local_client
from call_error import error_of
from child_process import wait_until
from database_link import DatabaseLink
from evenpack.v1 import job_pb2, step_pb2
from evenpack.v1 import packing_service_pb2 as api
from postgresql_server import USER, PostgresqlServer
from server_process import ServerProcess

# Of the first stream: in steps of a server that is not in doubt, and in the batch that
# is under way.
FIRST = 2000
BATCH = 4000
# Fewer than that batch takes on its way to the database, and more than all else does.
LARGE = 2000


@dataclass
class Doubt:
    """A server whose last commit is in doubt."""

    server: ServerProcess
    link: DatabaseLink
    # Those that were committed before.
    steps: list[step_pb2.Step]
    # One who has them all, and waits.
    waiting: local_client.Conversation[api.StreamStepsRequest, api.StreamStepsResponse]
    # One of a group, whose peer isn't there.
    member: local_client.Conversation[api.JoinGroupRequest, api.JoinGroupResponse]
    producer: threading.Thread
    # What the producer was told.
    told: list[str]

    def behind(self, step: int) -> api.StreamStepsRequest:
        """As who has that step."""
        return local_client.subscribing(
            "job",
            from_step=step + 1,
            last_digest=self.steps[step].digest,
            credits=len(self.steps),
        )


class DoubtTest(unittest.TestCase):
    def setUp(self) -> None:
        self.database = self.enterContext(PostgresqlServer(durable=False))
        self.database.start()

    def start_server(self, name: str, port: int) -> ServerProcess:
        target = f"postgresql://{USER}@127.0.0.1:{port}/{name}"
        return self.enterContext(ServerProcess("--store", target, "--drain-seconds=1"))

    def await_log(self, server: ServerProcess, line: str) -> None:
        """Returns once the server has said so."""
        wait_until(lambda: line in server.stderr(), f"'{line}'")

    def begin(self, name: str, *, arrives: bool) -> Doubt:
        """One of a database of its own; its commit reaches that or not."""
        self.database.sql(f"CREATE DATABASE {name}")
        link = self.enterContext(DatabaseLink(self.database.port))
        server = self.start_server(name, link.port)
        local_client.create(server, "job", job_specs.small_spec(roomy=True))
        local_client.fill(server, "job", job_specs.STREAMS, FIRST, ends=False)
        steps = local_client.steps_of(server, "job")
        told: list[str] = []
        producer = threading.Thread(target=self.send, args=(server, told))
        waiting = self.follow(server, steps)
        member = self.join(server, cp_rank=0)
        doubt = Doubt(server, link, steps, waiting, member, producer, told)
        link.cut_at(LARGE, arrives=arrives)
        producer.start()
        return doubt

    def follow(
        self, server: ServerProcess, steps: list[step_pb2.Step]
    ) -> local_client.Conversation[api.StreamStepsRequest, api.StreamStepsResponse]:
        asked = local_client.subscribing(
            "job", from_step=len(steps), last_digest=steps[-1].digest
        )
        call = self.enterContext(local_client.open_steps(server, asked))
        self.assertTrue(call.receive().HasField("subscribed"))
        return call

    def join(
        self, server: ServerProcess, *, cp_rank: int
    ) -> local_client.Conversation[api.JoinGroupRequest, api.JoinGroupResponse]:
        """A member of a group of two."""
        seat = api.OpenGroup(job="job", cp_size=2, cp_rank=cp_rank, member=f"{cp_rank}")
        call = local_client.Conversation(
            server.stub.JoinGroup,
            api.JoinGroupRequest(open=seat),
            api.JoinGroupRequest(state=api.MemberState(address=b"here")),
        )
        self.enterContext(call)
        self.assertTrue(call.receive().HasField("joined"))
        return call

    def send(self, server: ServerProcess, told: list[str]) -> None:
        """The batch."""
        for seed, stream in enumerate(job_specs.STREAMS):
            batch = api.IngestRequest(batch=documents.batch_of(seed, FIRST, BATCH))
            try:
                local_client.ingest(server, local_client.opening("job", stream), batch)
            except grpc.RpcError as caught:
                told.append(error_of(caught).reason)
                return

    def reason(
        self,
        call: local_client.Conversation[
            api.StreamStepsRequest, api.StreamStepsResponse
        ],
    ) -> tuple[list[int], str]:
        """The steps that come on a call, and why it ends."""
        steps = []
        try:
            while True:
                answer = call.receive()
                if answer.HasField("step"):
                    steps.append(answer.step.index)
        except grpc.RpcError as caught:
            return steps, error_of(caught).reason

    def check_served(self, doubt: Doubt) -> None:
        """What is committed goes on being served, and nothing else is decided."""
        doubt.producer.join()
        self.assertEqual(doubt.told, ["STORE_FAILED"])
        self.assertEqual(self.reason(doubt.waiting), ([], "STORE_FAILED"))
        with self.assertRaises(grpc.RpcError) as caught:
            doubt.member.receive()
        self.assertEqual(error_of(caught.exception).reason, "STORE_FAILED")
        with local_client.open_steps(doubt.server, doubt.behind(0)) as call:
            every = list(range(1, len(doubt.steps)))
            self.assertEqual(self.reason(call), (every, "STORE_FAILED"))
        with self.assertRaises(grpc.RpcError) as caught:
            local_client.get_job(doubt.server, "job")
        self.assertEqual(error_of(caught.exception).reason, "STORE_FAILED")

    def described(self, doubt: Doubt) -> job_pb2.Job | None:
        """The job; none while it has yet to be read back, not by a look."""
        try:
            return local_client.get_job(doubt.server, "job")
        except grpc.RpcError as caught:
            self.assertEqual(error_of(caught).reason, "STORE_FAILED")
            return None

    def check_goes_on(self, doubt: Doubt, *, stands: bool) -> None:
        """The job is as if nothing had been; what was in doubt is there or isn't."""
        held = wait_until(lambda: self.described(doubt), "the job is read back")
        count = FIRST + BATCH if stands else FIRST
        self.assertEqual(held.streams[0].next_sequence, count)
        local_client.fill(
            doubt.server, "job", job_specs.STREAMS, FIRST + BATCH, first=FIRST
        )
        last = len(doubt.steps) - 1
        with local_client.open_steps(doubt.server, doubt.behind(last)) as call:
            self.assertTrue(call.receive().HasField("subscribed"))
            self.assertEqual(call.receive().step.index, last + 1)
        digests = [step.digest for step in local_client.steps_of(doubt.server, "job")]
        self.assertEqual(digests, self.undisturbed())
        self.assertEqual(doubt.server.terminate(), 0, doubt.server.stderr())

    def undisturbed(self) -> list[bytes]:
        """The digests of a server that was never in doubt."""
        with ServerProcess() as server:
            local_client.create(server, "job", job_specs.small_spec(roomy=True))
            local_client.fill(server, "job", job_specs.STREAMS, FIRST, ends=False)
            local_client.fill(
                server, "job", job_specs.STREAMS, FIRST + BATCH, first=FIRST
            )
            return [step.digest for step in local_client.steps_of(server, "job")]

    def found(self, *servers: ServerProcess) -> str:
        """What a client says that may ask these, in this order."""
        addresses = ",".join(server.grpc_address for server in servers)
        ended = subprocess.run(
            [os.environ["EVENPACKCTL"], "jobs", "describe", "job", "--json"],
            env={**os.environ, "EVENPACK_SERVER": addresses},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout

    def test_it_stays_and_learns_what_became_of_its_commit(self) -> None:
        stands = self.begin("stands", arrives=True)
        falls = self.begin("falls", arrives=False)
        drains = self.begin("drains", arrives=True)
        led = self.begin("led", arrives=True)
        other = self.start_server("led", self.database.port)
        every = [stands, falls, drains, led]
        for doubt in every:
            self.await_log(doubt.server, "commit in doubt")
            self.check_served(doubt)
        # The database is as far away as ever; a drain ends.
        self.assertEqual(drains.server.terminate(), 0, drains.server.stderr())
        held = wait_until(lambda: local_client.get_job(other, "job"), "the other leads")
        self.assertEqual(held.streams[0].next_sequence, FIRST + BATCH)
        for member in [self.join(other, cp_rank=cp_rank) for cp_rank in range(2)]:
            self.assertEqual(member.receive().connect.epoch, 1)
        # Clients that ask the one that is cut off go on to those that aren't.
        self.assertIn(f"{FIRST + BATCH}", self.found(led.server, other))
        for doubt in (stands, falls, led):
            doubt.link.heal()
            self.await_log(doubt.server, "database reached again")
        self.check_goes_on(stands, stands=True)
        self.check_goes_on(falls, stands=False)
        self.await_log(led.server, "job lost")
        with self.assertRaises(grpc.RpcError) as caught:
            local_client.get_job(led.server, "job")
        self.assertEqual(error_of(caught.exception).reason, "LED_ELSEWHERE")
        self.assertEqual(led.server.terminate(), 0, led.server.stderr())

    def test_of_a_short_absence_the_end_is_told_too(self) -> None:
        doubt = self.begin("short", arrives=True)
        self.await_log(doubt.server, "database lost")
        doubt.link.heal()
        self.await_log(doubt.server, "database reached again")
        doubt.producer.join()
        self.assertEqual(doubt.told, [])
        self.check_goes_on(doubt, stands=True)


if __name__ == "__main__":
    unittest.main()
