"""A server that is killed again and again, under producers and ranks that go on.

It dies at random moments and, in turn, at every fault point of its sources. Each
document is in exactly one step, nothing that a client was told is taken back, and the
steps are byte for byte those of a server that nobody killed: one that is sent the same
streams, or under MERGE_MODE_ARRIVAL the same documents in the order in which they came.
  kill_test.py [--kills N]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import arrival_order
import ballast
import job_specs
import kill_history
import local_client
import step_checks
from evenpack.v1 import job_pb2, step_pb2
from evenpack.v1 import packing_service_pb2 as api
from mortal_server import RECONNECT, MortalServer, fault_points
from producer import Stream
from server_process import ServerProcess
from worker_process import Followed, ProducerProcess, RankProcess, subscription

POINTS = fault_points(Path(os.environ["EVENPACK_SOURCE_DIR"]))
# Those that a server comes to once in megabytes of records.
RARE = ("snapshot.", "compaction.", "checkpoint.")
RANKS = 2
STEPS_AHEAD = 8
# Steps between two kills at random moments, at most.
MOST_STEPS = 8
# Steps in which a server surely comes once more to a point that isn't rare: it can
# commit no more of them at a time, and each takes marks and messages.
STEPS_A_PASSING = STEPS_AHEAD
MOST_PASSINGS = 3
# Documents of a stream that one step takes, at most.
DOCUMENTS_A_STEP = 40
KILLS = 50
# One in five is of the job that merges by arrival; as many more are of a balanced one.
ARRIVAL_SHARE = 5
# Of the former, which keeps so many checkpoints: those of the short form, and more.
KEPT_STEPS = 1000


@dataclass(frozen=True)
class Kill:
    """One death of the server."""

    # Steps that the ranks may take more.
    steps: int
    # None: at a random moment.
    point: str | None = None
    passings: int = 1

    def kill_at(self) -> str | None:
        """How a server is told."""
        return None if self.point is None else f"{self.point}:{self.passings}"


def plan_of(kills: int, points: list[str], rng: random.Random) -> list[Kill]:
    """Random moments and the points in turn, one after another."""
    plan = []
    for i in range(kills):
        if i % 2 == 0:
            plan.append(Kill(rng.randint(1, MOST_STEPS)))
            continue
        point = points[i // 2 % len(points)]
        rare = point.startswith(RARE)
        passings = 1 if rare else rng.randint(1, MOST_PASSINGS)
        plan.append(Kill(STEPS_A_PASSING * passings, point, passings))
    return plan


def arrival_spec() -> job_pb2.JobSpec:
    """A job whose steps hold their documents in the order in which they arrived."""
    spec = job_specs.small_spec(steps_ahead=STEPS_AHEAD)
    spec.merge = job_pb2.MERGE_MODE_ARRIVAL
    spec.policy.original.SetInParent()
    spec.retention.checkpoints = KEPT_STEPS
    return spec


def _bytes(step: step_pb2.Step) -> bytes:
    return step.SerializeToString()


class KillTest(unittest.TestCase):
    kills = KILLS

    def setUp(self) -> None:
        self.random = random.Random(5)
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.store = self.directory / "store"
        self.killed: Counter[str | None] = Counter()

    def start_ranks(self, address: str, *, paced: bool = False) -> RankProcess:
        asked = [
            subscription(
                f"{rank}",
                api.Subscribe(job="job", dp_rank=rank),
                reconnects=True,
                paced=paced,
            )
            for rank in range(RANKS)
        ]
        return self.enterContext(RankProcess(address, asked, RECONNECT))

    def start_producers(
        self, address: str, count: int, batch: int = 64
    ) -> ProducerProcess:
        streams = [
            Stream(name, "job", name, seed, count, batch=batch, reconnects=True)
            for seed, name in enumerate(job_specs.STREAMS)
        ]
        return self.enterContext(ProducerProcess(address, streams, RECONNECT))

    def undisturbed(self, spec: job_pb2.JobSpec, count: int) -> dict[str, list[bytes]]:
        """What each rank gets from a server that stays."""
        with ServerProcess() as server:
            local_client.create(server, "job", spec)
            ranks = self.start_ranks(server.grpc_address)
            self.start_producers(server.grpc_address, count).await_all()
            followed = ranks.await_all()
        return {name: each.raw_steps for name, each in followed.items()}

    def carry_out(
        self,
        plan: list[Kill],
        server: MortalServer,
        ranks: RankProcess,
        heavy: ballast.Ballast | None = None,
    ) -> None:
        """All kills, each after some progress of the ranks."""
        taken = 0
        for kill, following in zip(plan, [*plan[1:], None], strict=True):
            ranks.allow(taken + kill.steps)
            if kill.point is None:
                moment = taken + self.random.randint(1, kill.steps)
                ranks.await_steps(f"{self.random.randrange(RANKS)}", moment)
                server.kill()
            else:
                if heavy is not None and kill.point.startswith(RARE):
                    heavy.push_until_death()
                server.await_death(kill.point)
            self.killed[kill.point] += 1
            taken += kill.steps
            server.start(following.kill_at() if following else None)
            # Nothing is told by one that has come to its point before.
            server.ask("job")

    def check_clients(
        self,
        server: MortalServer,
        ranks: RankProcess,
        producers: ProducerProcess,
        count: int,
    ) -> dict[str, Followed]:
        """Lets all come to their end; what the ranks got."""
        ranks.allow(None)
        sent = producers.await_all()
        followed = ranks.await_all()
        told = [*producers.history, *ranks.history]
        kill_history.check(told, server.positions_of("job"))
        for each in sent.values():
            self.assertIsNone(each.error)
            self.assertEqual((each.next_sequence, each.ended), (count, True))
        for rank in followed.values():
            self.assertIsNone(rank.error)
            # How often is a matter of timing: a server may die before a rank is back.
            self.assertGreater(rank.reconnects, 0)
        every = [step for rank in followed.values() for step in rank.steps]
        streams = [(seed, count) for seed in range(len(job_specs.STREAMS))]
        step_checks.check_exactly_once(every, streams)
        return followed

    def check_ballast(self, server: MortalServer, heavy: ballast.Ballast) -> None:
        """It lost nothing, and its history is that of a server that stayed."""
        kill_history.check(heavy.told, server.positions_of(ballast.NAME))
        held = server.ask(ballast.NAME)
        assert held is not None
        with ServerProcess() as other:
            local_client.create(other, ballast.NAME, ballast.spec())
            opening = local_client.opening(ballast.NAME, ballast.STREAM)
            for first in range(0, held.streams[0].next_sequence, ballast.DOCUMENTS):
                sent = api.IngestRequest(batch=ballast.batch(first))
                local_client.ingest(other, opening, sent)
            expected = local_client.get_job(other, ballast.NAME)
        self.assertEqual(held.next_step, expected.next_step)
        self.assertEqual(held.digest, expected.digest)

    def verified(self) -> dict[str, int]:
        """The steps of each job of the store, which evenpackctl finds to be whole."""
        finished = subprocess.run(
            [os.environ["EVENPACKCTL"], "verify", self.store, "--json"],
            check=True,
            capture_output=True,
        )
        jobs = json.loads(finished.stdout)["jobs"]
        self.assertTrue(all(job["ok"] for job in jobs), jobs)
        return {job["name"]: job["next_step"] for job in jobs}

    def test_nothing_is_lost_and_nothing_comes_twice(self) -> None:
        kills = self.kills - self.kills // ARRIVAL_SHARE
        plan = plan_of(kills, POINTS, self.random)
        count = DOCUMENTS_A_STEP * (sum(kill.steps for kill in plan) + STEPS_AHEAD)
        spec = job_specs.small_spec(steps_ahead=STEPS_AHEAD)
        expected = self.undisturbed(spec, count)
        with MortalServer(self.store) as server:
            server.stub.CreateJob(api.CreateJobRequest(name="job", spec=spec))
            heavy = ballast.Ballast(server)
            ranks = self.start_ranks(server.address, paced=True)
            producers = self.start_producers(server.address, count)
            self.carry_out(plan, server, ranks, heavy)
            followed = self.check_clients(server, ranks, producers, count)
            self.check_ballast(server, heavy)
            self.assertEqual(server.terminate(), 0)
        self.assertEqual(self.verified()["job"], len(expected["0"]))
        for name, each in followed.items():
            self.assertEqual(each.raw_steps, expected[name])
        self.assertEqual({*self.killed}, {None, *POINTS})

    def test_what_a_balanced_job_holds_back_is_not_lost(self) -> None:
        points = [point for point in POINTS if not point.startswith(RARE)]
        plan = plan_of(self.kills // ARRIVAL_SHARE, points, self.random)
        count = DOCUMENTS_A_STEP * (sum(kill.steps for kill in plan) + STEPS_AHEAD)
        spec = job_specs.balanced_spec(steps_ahead=STEPS_AHEAD)
        expected = self.undisturbed(spec, count)
        with MortalServer(self.store) as server:
            server.stub.CreateJob(api.CreateJobRequest(name="job", spec=spec))
            ranks = self.start_ranks(server.address, paced=True)
            producers = self.start_producers(server.address, count)
            self.carry_out(plan, server, ranks)
            followed = self.check_clients(server, ranks, producers, count)
            self.assertEqual(server.terminate(), 0)
        self.assertEqual(self.verified(), {"job": len(expected["0"])})
        for name, each in followed.items():
            self.assertEqual(each.raw_steps, expected[name])

    def test_documents_stay_in_the_order_in_which_they_arrived(self) -> None:
        kills = self.kills // ARRIVAL_SHARE
        points = [point for point in POINTS if not point.startswith(RARE)]
        plan = plan_of(kills, points, self.random)
        count = DOCUMENTS_A_STEP * (sum(kill.steps for kill in plan) + STEPS_AHEAD)
        with MortalServer(self.store) as server:
            request = api.CreateJobRequest(name="job", spec=arrival_spec())
            server.stub.CreateJob(request)
            ranks = self.start_ranks(server.address, paced=True)
            producers = self.start_producers(server.address, count, batch=7)
            self.carry_out(plan, server, ranks)
            followed = self.check_clients(server, ranks, producers, count)
            self.assertEqual(server.terminate(), 0)
        self.assertEqual(self.verified(), {"job": len(followed["0"].steps)})
        received = [followed[f"{rank}"].steps for rank in range(RANKS)]
        step_checks.check_ranks_agree(received)
        for steps in received:
            step_checks.check_order(steps)
        self.check_copy(received)
        self.check_replay(received)

    def check_copy(self, received: arrival_order.Ranks) -> None:
        """Another server over a copy of the store tells the same steps again."""
        copy = self.directory / "copy"
        shutil.copy(self.store, copy)
        with ServerProcess("--store", f"sqlite:{copy}") as server:
            oldest = local_client.get_job(server, "job").oldest_step
            self.assertEqual(oldest, max(len(received[0]) + 1 - KEPT_STEPS, 0))
            self.check_same(received, server, oldest)

    def check_replay(self, received: arrival_order.Ranks) -> None:
        """A server that is sent the documents in their order decides the same steps."""
        order = arrival_order.order_of(received)
        # Several producers at once, or it would be no order that timing made.
        self.assertGreater(len(order), 2 * len(job_specs.STREAMS))
        with ServerProcess() as server:
            spec = arrival_spec()
            spec.retention.max_steps_ahead = len(received[0]) + 1
            local_client.create(server, "job", spec)
            arrival_order.send(server, "job", job_specs.STREAMS, order)
            self.check_same(received, server, 0)

    def check_same(
        self, received: arrival_order.Ranks, server: ServerProcess, first: int
    ) -> None:
        """The server's steps from one on are those that the ranks got."""
        for rank, steps in enumerate(received):
            again = local_client.steps_of(server, "job", from_step=first, dp_rank=rank)
            expected = [*map(_bytes, steps[first:])]
            self.assertTrue([*map(_bytes, again)] == expected, "other steps")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--kills",
        type=int,
        default=KILLS,
        help=f"how many; at least {3 * len(POINTS)}, or not every point has its turn",
    )
    options, rest = parser.parse_known_args()
    KillTest.kills = options.kills
    unittest.main(argv=[sys.argv[0], *rest])
