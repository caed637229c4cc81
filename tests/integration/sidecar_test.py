"""Ranks in processes beside their trainers', over real sockets and shared memory."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import grpc
import reflection_client
from attach_client import Attached, attach
from attention_trainers import (
    ACCEPTED_OF_BFLOAT16,
    SIDECAR_TRAINER,
    AttentionTestCase,
    AttentionTrainer,
    create_job,
)
from call_error import CallError, error_of
from child_process import wait_until
from evenpack.v1 import cost_profile_pb2, latency_pb2
from evenpack.v1 import worker_service_pb2 as pb
from health_client import SERVING, check
from listening_process import ANY_PORT
from server_process import ServerProcess
from worker_service_process import PROGRAM, WorkerServiceProcess

BAD_INPUT = 2
FAILED = 1
# What the program's build has beside it.
DOUBLES = Path(PROGRAM).parent.parent / "tests"


class SidecarTest(AttentionTestCase):
    def start_worker(
        self, *flags: str, folder: str | None = None
    ) -> WorkerServiceProcess:
        started = WorkerServiceProcess(self.server.grpc_address, *flags, folder=folder)
        return self.enterContext(started)

    def start_trainer(
        self,
        worker: WorkerServiceProcess,
        cp_rank: int,
        member: str,
        from_step: int = 0,
    ) -> AttentionTrainer:
        program = [SIDECAR_TRAINER, worker.folder]
        started = AttentionTrainer(
            program, self.server, (0, cp_rank), member, from_step
        )
        return self.enterContext(started)

    def test_groups_of_every_size_compute_what_the_definition_says(self) -> None:
        for context in (1, 2, 3, 4, 8):
            with self.subTest(context=context):
                self.create_anew(context)
                workers = [self.start_worker() for _ in range(context)]
                self.check_all(
                    [
                        self.start_trainer(worker, cp, f"m{cp}")
                        for cp, worker in enumerate(workers)
                    ]
                )
                asked = latency_pb2.GetLatencyRequest(job="job", steps=64)
                told = self.server.stub.GetLatency(asked).steps
                self.assertEqual([each.step for each in told], [*range(self.steps)])
                for each in told:
                    self.assertEqual(each.ranks_reported, context)

    @unittest.skipUnless(
        os.environ.get("EVENPACK_SIDECAR_DEVICE"),
        "EVENPACK_SIDECAR_DEVICE names no device (docs/gpu-checks.md)",
    )
    def test_a_trainers_process_and_its_workers_share_a_device(self) -> None:
        self.create(1)
        device = os.environ["EVENPACK_SIDECAR_DEVICE"]
        worker = self.start_worker("--device", device)
        program = [SIDECAR_TRAINER, worker.folder]
        started = AttentionTrainer(program, self.server, (0, 0), "m0", 0, more=["cuda"])
        trainer = self.enterContext(started)
        trainer.accepted = ACCEPTED_OF_BFLOAT16
        self.check_all([trainer])

    def test_a_trainer_that_would_map_a_device_is_refused(self) -> None:
        self.create(1)
        worker = self.start_worker()
        trainer = self.enterContext(
            AttentionTrainer(
                [SIDECAR_TRAINER, worker.folder],
                self.server,
                (0, 0),
                "m0",
                0,
                {"EVENPACK_CUDA_DRIVER": str(DOUBLES / "libfake_cuda.so")},
                ["cuda"],
            )
        )
        self.assertFalse(trainer.take())
        self.assertEqual(trainer.wait(), FAILED)
        self.assertIn("arena_kind: 1 is not accepted; accepted: 0", trainer.stderr())

    def test_trainers_go_back_to_a_checkpoint_and_their_workers_stay(self) -> None:
        self.create(2)
        workers = [self.start_worker() for _ in range(2)]
        group = [
            self.start_trainer(worker, cp, f"m{cp}")
            for cp, worker in enumerate(workers)
        ]
        group[0].take_until(2)
        group[0].kill()
        # Its worker has the peer's wait for it, until that ends as well.
        group[1].take_until(1)
        group[1].kill()
        again = [
            self.start_trainer(worker, cp, f"m{cp} again", from_step=2)
            for cp, worker in enumerate(workers)
        ]
        self.check_all(again, first=2)

    def test_a_worker_that_dies_is_told_of_and_a_new_one_takes_its_place(self) -> None:
        self.create(1)
        worker = self.start_worker()
        trainer = self.start_trainer(worker, 0, "m0")
        trainer.take_until(1)
        worker.kill()
        while trainer.take():
            pass
        self.assertEqual(trainer.wait(), FAILED)
        self.assertIn("the worker is gone", trainer.stderr())
        again = self.start_worker(folder=worker.folder)
        done = len(trainer.steps)
        trainer = self.start_trainer(again, 0, "m0 again", done)
        trainer.take_all()
        self.assertEqual(trainer.steps, [*range(done, self.steps)])

    def test_the_server_restarts_and_the_group_computes_on(self) -> None:
        self.create(2)
        workers = [self.start_worker() for _ in range(2)]
        group = [
            self.start_trainer(worker, cp, f"m{cp}")
            for cp, worker in enumerate(workers)
        ]
        for trainer in group:
            trainer.take_until(1)
        self.restart_server()
        self.check_all(group)

    def test_says_what_it_does(self) -> None:
        self.create(1)
        worker = self.start_worker("--memory", "100MB")
        idle = worker.stub.GetWorker(pb.GetWorkerRequest())
        self.assertEqual(idle.memory_bytes, 100 << 20)
        self.assertEqual((idle.trainer_process, idle.arena_bytes), (0, 0))
        self.assertFalse(idle.HasField("session"))
        self.assertEqual(check(worker, "evenpack.v1.WorkerService"), SERVING)
        trainer = self.start_trainer(worker, 0, "m0")
        trainer.take_until(1)
        trainer.signal(signal.SIGSTOP)
        busy = worker.stub.GetWorker(pb.GetWorkerRequest())
        self.assertEqual(busy.trainer_process, trainer.pid)
        self.assertEqual(busy.arena_bytes, 64 << 20)
        session = busy.session
        self.assertEqual((session.job, session.cp_size, session.epoch), ("job", 1, 1))
        self.assertGreaterEqual(session.step, 1)
        self.assertGreater(session.submissions, 10)
        trainer.signal(signal.SIGCONT)
        trainer.take_all()

        def is_idle() -> bool:
            return not worker.stub.GetWorker(pb.GetWorkerRequest()).trainer_process

        wait_until(is_idle, "the trainer is detached")

    def test_reflection_which_takes_a_thread_of_each_caller_is_not_there(self) -> None:
        worker = self.start_worker()
        with self.assertRaises(grpc.RpcError) as caught:
            reflection_client.services(worker.channel)
        self.assertEqual(error_of(caught.exception).code, "UNIMPLEMENTED")

    def test_counts_what_it_executes(self) -> None:
        self.create(2)
        workers = [
            self.enterContext(
                WorkerServiceProcess(
                    self.server.grpc_address,
                    *("--memory", "100MB"),
                    http_listen=ANY_PORT,
                )
            )
            for _ in range(2)
        ]
        first = workers[0]
        self.assertEqual(first.get("/healthz"), (200, "ok\n"))
        self.assertEqual(first.get("/readyz"), (200, "ready\n"))
        self.assertNotIn("evenpack_worker_session_info{", first.metrics())
        self.assertEqual(first.metric("evenpack_worker_steps_total"), 0)
        group = [
            self.start_trainer(worker, cp, f"m{cp}")
            for cp, worker in enumerate(workers)
        ]
        self.check_all(group)

        def is_idle() -> bool:
            return first.metric("evenpack_worker_memory_used_bytes") == 0

        wait_until(is_idle, "the trainer is detached")
        # What the session did still counts.
        self.assertEqual(first.metric("evenpack_worker_steps_total"), self.steps)
        for name in ("micro_batches", "forward_seconds", "backward_seconds"):
            self.assertGreater(first.metric(f"evenpack_worker_{name}_total"), 0)
        self.assertEqual(first.metric("evenpack_worker_group_connected"), 0)
        self.assertGreater(first.metric("process_resident_memory_bytes"), 0)

    def test_ends_when_it_is_told_to(self) -> None:
        create_job(self.server, 1)
        for number in (signal.SIGTERM, signal.SIGHUP):
            worker = self.start_worker()
            attached = attach(worker.folder, 1 << 20)
            worker.signal(number)
            self.assertEqual(worker.wait(), 0)
            self.assertEqual(attached.connection.recv(1), b"")
            self.assertEqual([*Path(worker.folder).iterdir()], [])
            attached.connection.close()


def request_of(attached: Attached, **changes: object) -> pb.OpenSessionRequest:
    """A session that is accepted but for the changes; shape's are named shape_*."""
    request = pb.OpenSessionRequest(token=attached.token, job="job", member="m")
    shape = request.shape
    shape.type = cost_profile_pb2.ELEMENT_TYPE_FLOAT32
    shape.query_heads, shape.kv_heads, shape.head_size = 4, 2, 64
    for name, value in changes.items():
        of_shape = name.startswith("shape_")
        setattr(shape if of_shape else request, name.removeprefix("shape_"), value)
    return request


class RefusalTest(unittest.TestCase):
    def setUp(self) -> None:
        self.server = self.enterContext(ServerProcess())
        create_job(self.server, 2)
        started = WorkerServiceProcess(self.server.grpc_address, "--memory", "2MB")
        self.worker = self.enterContext(started)

    def attach(self, arena_bytes: int = 1 << 20) -> Attached:
        attached = attach(self.worker.folder, arena_bytes)
        self.addCleanup(attached.connection.close)
        return attached

    def refusal(self, request: pb.OpenSessionRequest) -> CallError:
        with self.assertRaises(grpc.RpcError) as raised:
            self.worker.stub.OpenSession(request)
        return error_of(raised.exception)

    def test_sessions_that_cannot_be_are_refused_by_field(self) -> None:
        attached = self.attach()
        cases: list[tuple[dict[str, object], str, str]] = [
            ({"shape_head_size": 65}, "INVALID_ARGUMENT", "head_size: 65"),
            ({"shape_kv_heads": 3}, "INVALID_ARGUMENT", "accepted: "),
            ({"shape_type": 0}, "INVALID_ARGUMENT", "shape.type: 0"),
            ({"member": ""}, "INVALID_ARGUMENT", "member: "),
            ({"member": "m" * 257}, "INVALID_ARGUMENT", "member: "),
            ({"last_digest": b"abc"}, "INVALID_ARGUMENT", "last_digest: 3 bytes"),
            ({"head_groups": 2000}, "INVALID_ARGUMENT", "head_groups: 2000"),
            ({"job": "other"}, "NOT_FOUND", "other"),
            ({"dp_rank": 7}, "INVALID_ARGUMENT", "dp_rank: 7"),
            ({"cp_rank": 2}, "INVALID_ARGUMENT", "cp_rank: 2"),
            ({"last_digest": bytes(16), "from_step": 3}, "DATA_LOSS", "step 2"),
            ({"token": b""}, "PERMISSION_DENIED", "token"),
            ({"token": bytes(16)}, "PERMISSION_DENIED", "token"),
        ]
        for changes, code, message in cases:
            with self.subTest(changes=changes):
                error = self.refusal(request_of(attached, **changes))
                self.assertEqual(error.code, code)
                self.assertIn(message, error.message)
                self.assertEqual(error.domain, "evenpack")
        # None of them has harmed it.
        opened = self.worker.stub.OpenSession(request_of(attached))
        self.assertEqual((opened.cp_size, opened.scratch_bytes), (2, 1 << 20))
        row = 4 * 64 * 4
        self.assertEqual(opened.forward_bytes_per_row, 3 * row + 4 * 4)
        self.assertEqual(opened.backward_bytes_per_row, 3 * row)

    def test_shows_the_session_that_is_open(self) -> None:
        started = WorkerServiceProcess(
            self.server.grpc_address, "--memory", "2MB", http_listen=ANY_PORT
        )
        worker = self.enterContext(started)
        attached = attach(worker.folder, 1 << 20)
        worker.stub.OpenSession(request_of(attached, cp_rank=1))
        labels = 'job="job",dp_rank="0",cp_rank="1"'
        info = f"evenpack_worker_session_info{{{labels}}}"
        self.assertEqual(worker.metric(info), 1)
        self.assertEqual(worker.metric("evenpack_worker_memory_used_bytes"), 1 << 20)
        self.assertEqual(worker.metric("evenpack_worker_memory_limit_bytes"), 2 << 20)
        # The other rank never comes.
        self.assertEqual(worker.metric("evenpack_worker_group_connected"), 0)
        attached.connection.close()
        wait_until(lambda: info not in worker.metrics(), "the session has ended")

    def test_an_arena_has_one_session(self) -> None:
        attached = self.attach()
        self.worker.stub.OpenSession(request_of(attached))
        self.assertEqual(self.refusal(request_of(attached)).code, "FAILED_PRECONDITION")
        self.worker.stub.CloseSession(pb.CloseSessionRequest(token=attached.token))
        self.assertEqual(self.refusal(request_of(attached)).code, "FAILED_PRECONDITION")

    def test_the_token_is_that_of_who_is_attached_now(self) -> None:
        first = attach(self.worker.folder, 1 << 20)
        first.connection.close()
        self.attach()
        error = self.refusal(request_of(first))
        self.assertEqual(error.code, "PERMISSION_DENIED")

    def test_a_second_trainer_is_refused(self) -> None:
        self.attach()
        with self.assertRaisesRegex(OSError, f"process {os.getpid()} is attached"):
            attach(self.worker.folder, 1 << 20)

    def test_an_arena_beyond_the_memory_is_refused(self) -> None:
        with self.assertRaisesRegex(OSError, "3145728 .* up to 2097152"):
            attach(self.worker.folder, 3 << 20)
        with self.assertRaisesRegex(OSError, "version: 9"):
            attach(self.worker.folder, 1 << 20, version=9)

    def test_the_arena_can_be_neither_grown_nor_cut(self) -> None:
        attached = self.attach()
        with self.assertRaises(OSError):
            attached.arena.resize(4096)

    def test_a_worker_whose_server_is_away_is_free_for_the_next_trainer(self) -> None:
        self.server.kill()
        first = attach(self.worker.folder, 1 << 20)
        call = self.worker.stub.OpenSession.future(request_of(first))

        def is_opening() -> bool:
            status = self.worker.stub.GetWorker(pb.GetWorkerRequest())
            return status.trainer_process == os.getpid()

        wait_until(is_opening, "it is attached")
        first.connection.close()
        second = self.attach()
        self.assertNotEqual(first.token, second.token)
        with self.assertRaises(grpc.RpcError):
            call.result()

    def test_flags_that_cannot_work(self) -> None:
        folder = ["--socket-folder", self.worker.folder]
        server = ["--server", self.server.grpc_address]
        own = self.enterContext(tempfile.TemporaryDirectory())
        cases = [
            ([], BAD_INPUT, "0 modes were given; accepted: --selftest"),
            (["--serve", *folder], BAD_INPUT, "--server: missing"),
            (["--serve", *server], BAD_INPUT, "--socket-folder: missing"),
            (["--serve", "--selftest", *folder, *server], BAD_INPUT, "2 modes"),
            (["--serve", *server, "--socket-folder", "/nowhere"], BAD_INPUT, "nowhere"),
            (["--serve", *server, *folder, "--memory", "much"], BAD_INPUT, "--memory"),
            (["--serve", *server, *folder], FAILED, "a process listens at"),
            (
                ["--serve", *server, "--socket-folder", own, "--http-listen", "here"],
                BAD_INPUT,
                "http-listen: 'here'",
            ),
        ]
        for flags, status, message in cases:
            with self.subTest(flags=flags):
                ended = subprocess.run(
                    [PROGRAM, *flags], capture_output=True, text=True, timeout=30
                )
                self.assertEqual(ended.returncode, status)
                self.assertIn(message, ended.stderr)
                self.assertEqual(ended.stdout, "")

    def test_without_cudnn_a_worker_for_a_device_serves_nothing(self) -> None:
        own = self.enterContext(tempfile.TemporaryDirectory())
        doubles = {
            "EVENPACK_CUDA_DRIVER": str(DOUBLES / "libfake_cuda.so"),
            "EVENPACK_NCCL": str(DOUBLES / "libfake_nccl.so"),
            "EVENPACK_CUDNN": "/nowhere/libcudnn.so.9",
        }
        server = ["--server", self.server.grpc_address]
        ended = subprocess.run(
            [PROGRAM, "--serve", *server, "--socket-folder", own, "--device", "cuda"],
            env={**os.environ, **doubles},
            capture_output=True,
            text=True,
            timeout=30,
        )
        self.assertEqual(ended.returncode, FAILED)
        self.assertIn("cuDNN", ended.stderr)
        self.assertEqual(ended.stdout, "")
        self.assertEqual(list(Path(own).iterdir()), [])


if __name__ == "__main__":
    unittest.main()
