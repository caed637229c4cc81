"""Ranks that execute the attention of a job's steps, each in a trainer's process."""

from __future__ import annotations

import os
import signal
import subprocess
import unittest
from collections.abc import Mapping

import local_client
from attention_trainers import (
    IN_PROCESS_TRAINER,
    AttentionTestCase,
    AttentionTrainer,
)
from child_process import wait_until
from evenpack.v1 import latency_pb2

CONTROL = os.environ["EVENPACKCTL"]


class RankWorkerTest(AttentionTestCase):
    def start(
        self,
        rank: tuple[int, int],
        member: str,
        from_step: int | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> AttentionTrainer:
        program = [IN_PROCESS_TRAINER]
        started = AttentionTrainer(
            program, self.server, rank, member, from_step, variables
        )
        return self.enterContext(started)

    def test_groups_of_every_size_compute_what_the_definition_says(self) -> None:
        for context in (1, 2, 3, 4, 8):
            with self.subTest(context=context):
                self.create_anew(context)
                group = [self.start((0, cp), f"m{cp}") for cp in range(context)]
                self.check_all(group)
                for trainer in group:
                    self.assertEqual((trainer.epoch, trainer.attempts), (1, self.steps))

    def test_each_dp_rank_has_a_group_of_its_own(self) -> None:
        self.create(2, data=2)
        ranks = [(dp, cp) for dp in range(2) for cp in range(2)]
        self.check_all([self.start(rank, f"{rank}") for rank in ranks])
        job = local_client.get_job(self.server, "job")
        self.assertEqual(job.durable_steps_per_rank, [self.steps, self.steps])

    def test_a_rank_that_dies_is_restarted_and_the_step_is_done_again(self) -> None:
        self.create(3)
        dies = {"EVENPACK_KILL_AT": "exchange.before:100"}
        lost = self.start((0, 1), "m1", variables=dies)
        peers = [self.start((0, cp), f"m{cp}") for cp in (0, 2)]
        self.assertEqual(lost.wait(), -signal.SIGKILL)
        while lost.take():
            pass
        done = len(lost.steps)
        self.assertGreater(done, 0)
        self.assertLess(done, self.steps)
        restarted = self.start((0, 1), "m1 again", from_step=done)
        self.check_all(peers)
        restarted.take_all()
        self.assertEqual([*lost.steps, *restarted.steps], [*range(self.steps)])
        for trainer in (*peers, restarted):
            self.assertEqual(trainer.epoch, restarted.epoch)
        self.assertGreater(restarted.epoch, 1)
        for peer in peers:
            self.assertGreater(peer.attempts, self.steps)

    def test_a_rank_of_another_checkpoint_is_told_so_and_so_are_its_peers(self) -> None:
        self.create(2)
        dies = {"EVENPACK_KILL_AT": "exchange.before:60"}
        lost = self.start((0, 1), "m1", variables=dies)
        peer = self.start((0, 0), "m0")
        self.assertEqual(lost.wait(), -signal.SIGKILL)
        restarted = self.start((0, 1), "m1 again", from_step=0)
        for trainer in (peer, restarted):
            self.assertEqual(trainer.wait(), 1)
            self.assertIn("at step 0", trainer.stderr())
            self.assertIn("accepted: all ranks of the group", trainer.stderr())

    def test_the_server_restarts_and_the_group_computes_on(self) -> None:
        self.create(2)
        group = [self.start((0, cp), f"m{cp}") for cp in range(2)]
        for trainer in group:
            trainer.take_until(1)
        self.restart_server()
        self.check_all(group)
        for trainer in group:
            self.assertEqual((trainer.epoch, trainer.attempts), (1, self.steps))

    def test_a_rank_on_a_slow_machine_is_named(self) -> None:
        self.create(2, data=2)
        slow = (1, 0)
        trainers = []
        for rank in [(dp, cp) for dp in range(2) for cp in range(2)]:
            pair_ns = ["50" if rank == slow else "1"]
            trainer = AttentionTrainer(
                [IN_PROCESS_TRAINER], self.server, rank, f"{rank}", 0, more=pair_ns
            )
            trainers.append(self.enterContext(trainer))
        self.check_all(trainers)
        asked = latency_pb2.GetLatencyRequest(job="job", steps=64)
        latency = self.server.stub.GetLatency(asked)
        self.assertEqual([each.step for each in latency.steps], [*range(self.steps)])
        for step in latency.steps:
            excess = step.excess
            self.assertEqual((step.ranks, step.ranks_reported), (4, 4))
            self.assertEqual(
                excess.packing_ns
                + excess.cp_sharding_ns
                + excess.communication_ns
                + excess.machine_ns,
                excess.step_ns - excess.even_ns,
            )
            self.assertEqual(len(step.rank_latencies), 4)
            for told in step.rank_latencies:
                # The last steps may have none for a rank.
                has_tokens = told.predicted_forward_ns > 0
                self.assertEqual(told.forward_ns > 0, has_tokens)
                self.assertEqual(told.backward_ns > 0, has_tokens)
        named = [
            (step.excess.latest.dp_rank, step.excess.latest.cp_rank)
            for step in latency.steps
        ]
        # In a step where it has next to nothing to do it is not late.
        self.assertGreater(named.count(slow), len(named) / 2, named)
        machine = sum(step.excess.machine_ns for step in latency.steps)
        excess_ns = sum(
            step.excess.step_ns - step.excess.even_ns for step in latency.steps
        )
        self.assertGreater(machine, excess_ns / 2)
        of_cause = 'evenpack_job_excess_seconds_total{{job="job",cause="{}"}}'
        self.assertAlmostEqual(
            self.server.metric(of_cause.format("machine")), machine * 1e-9, places=7
        )
        steps = self.server.metric('evenpack_job_measured_steps_total{job="job"}')
        self.assertEqual(steps, self.steps)
        shown = subprocess.run(
            [CONTROL, "latency", "--job", "job", "--server", self.server.grpc_address],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        self.assertIn("steps: dp 1 cp 0, by ", shown.stdout)

    def test_a_second_process_takes_the_rank(self) -> None:
        self.create(2)
        first = self.start((0, 1), "first")
        members = 'evenpack_job_group_members{job="job"}'
        wait_until(lambda: self.server.metric(members) == 1, "the first has joined")
        second = self.start((0, 1), "second")
        self.assertEqual(first.wait(), 1)
        self.assertIn("taken", first.stderr())
        self.check_all([second, self.start((0, 0), "m0")])


if __name__ == "__main__":
    unittest.main()
