"""Jobs one after another on a server that may vanish at any moment.

Each job is created, fed and followed by processes, checkpointed, restored,
reconfigured, checked and deleted.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import grpc
import job_specs
import step_checks
from call_error import error_of
from child_process import DEADLINE
from evenpack.v1 import job_pb2
from evenpack.v1 import packing_service_pb2 as api
from evenpack.v1 import packing_service_pb2_grpc as rpc
from producer import Stream
from worker_process import ProducerProcess, RankProcess, subscription

# So that nobody waits long for a server that is back.
RECONNECT = [
    ("grpc.initial_reconnect_backoff_ms", 20),
    ("grpc.min_reconnect_backoff_ms", 20),
    ("grpc.max_reconnect_backoff_ms", 100),
]
# Of a stream.
LEAST_DOCUMENTS = 1000
MOST_DOCUMENTS = 4000

T = TypeVar("T")


@dataclass(frozen=True)
class Shape:
    """What tells the jobs of one lane from those of others."""

    name: str
    spec: job_pb2.JobSpec

    @property
    def ranks(self) -> int:
        """Its data-parallel ranks."""
        return self.spec.parallelism.data


def _shape(name: str, ranks: int, streams: int, **fields: object) -> Shape:
    names = [f"stream-{i}" for i in range(streams)]
    spec = job_specs.small_spec(names, data=ranks, steps_ahead=16)
    spec.MergeFrom(job_pb2.JobSpec(**fields))  # type: ignore[arg-type]
    return Shape(name, spec)


def shapes() -> list[Shape]:
    """Every policy, both merges."""
    greedy = job_pb2.FixedGreedyPolicy(window_batches=2)
    split = job_pb2.OriginalPolicy(split_documents=True)
    balanced = {"balanced": job_pb2.BalancedPolicy()}
    arrival = job_pb2.MERGE_MODE_ARRIVAL
    hybrid = job_pb2.SHARDING_HYBRID
    return [
        _shape("interleave-wlb", 2, 2),
        _shape("arrival-wlb", 2, 3, merge=arrival),
        _shape("arrival-greedy", 1, 2, merge=arrival, policy={"fixed_greedy": greedy}),
        _shape("interleave-original", 3, 1, policy={"original": split}),
        _shape("interleave-balanced", 2, 2, policy=balanced, sharding=hybrid),
    ]


@dataclass
class Work:
    """What a lane has done."""

    jobs: int = 0
    updates: int = 0
    checkpoints: int = 0
    restores: int = 0
    steps: int = 0
    documents: int = 0
    reconnects: int = 0

    def add(self, other: Work) -> None:
        """Counts another's too."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


def persist(method: Callable[..., T], request: object, done_if: str = "") -> T | None:
    """A call, repeated until the server answers.

    `done_if` is the reason by which a repetition learns that the call before it was
    carried out: nothing is returned then.
    """
    repeated = False
    while True:
        try:
            return method(request, wait_for_ready=True, timeout=DEADLINE)
        except grpc.RpcError as error:
            refusal = error_of(error)
            if repeated and done_if and refusal.reason == done_if:
                return None
            if refusal.code not in ("UNAVAILABLE", "CANCELLED"):
                raise
            repeated = True


@dataclass
class Lane:
    """One job at a time."""

    address: str
    shape: Shape
    seed: int
    work: Work = field(default_factory=Work)

    def run(self, is_over: Callable[[], bool]) -> Work:
        """Jobs until it is over."""
        chance = random.Random(self.seed)
        with grpc.insecure_channel(self.address, options=RECONNECT) as channel:
            stub: rpc.PackingServiceStub = rpc.PackingServiceStub(channel)
            while not is_over():
                name = f"{self.shape.name}-{self.work.jobs}"
                _JobRun(self, stub, name, chance).run()
                self.work.jobs += 1
        return self.work


class _JobRun:
    def __init__(
        self, lane: Lane, stub: rpc.PackingServiceStub, name: str, chance: random.Random
    ) -> None:
        self._lane = lane
        self._stub = stub
        self._name = name
        self._random = chance
        self._documents = chance.randint(LEAST_DOCUMENTS, MOST_DOCUMENTS)
        self._spec = job_pb2.JobSpec()
        self._spec.CopyFrom(lane.shape.spec)

    def run(self) -> None:
        """The job from its creation to its end."""
        created = api.CreateJobRequest(name=self._name, spec=self._spec)
        persist(self._stub.CreateJob, created, "JOB_EXISTS")
        ranks = [
            subscription(
                f"{rank}",
                api.Subscribe(job=self._name, dp_rank=rank),
                reconnects=True,
                follows_epochs=True,
            )
            for rank in range(self._lane.shape.ranks)
        ]
        address = self._lane.address
        with (
            ProducerProcess(address, self._streams(), RECONNECT) as producers,
            RankProcess(address, ranks, RECONNECT) as followers,
        ):
            self._operate(followers)
            self._check(producers, followers)
        self._delete(self._name)

    def _streams(self) -> list[Stream]:
        seeds = enumerate(self._spec.streams)
        return [
            Stream(
                each.name, self._name, each.name, seed, self._documents, reconnects=True
            )
            for seed, each in seeds
        ]

    def _operate(self, followers: RankProcess) -> None:
        """A checkpoint, and mostly an update, while steps are taken."""
        followers.await_steps("0", self._random.randint(1, 6))
        self._checkpoint()
        if self._random.random() < 0.7:
            followers.await_steps("0", self._random.randint(7, 10))
            self._update()

    def _next_step(self) -> int:
        held = persist(self._stub.GetJob, api.GetJobRequest(name=self._name))
        assert held is not None
        return held.job.next_step

    def _subscribe(
        self, request: api.StreamStepsRequest, *, wait_for_ready: bool, timeout: float
    ) -> None:
        call = self._stub.StreamSteps(
            iter([request]), wait_for_ready=wait_for_ready, timeout=timeout
        )
        next(call)
        call.cancel()

    def _checkpoint(self) -> None:
        taken: api.CheckpointJobResponse | None = None
        while taken is None:
            last = self._next_step() - 1
            request = api.CheckpointJobRequest(name=self._name, step=last)
            try:
                taken = persist(self._stub.CheckpointJob, request)
            except grpc.RpcError as error:
                # Every rank has made a later step durable meanwhile.
                if error_of(error).code != "OUT_OF_RANGE":
                    raise
        self._lane.work.checkpoints += 1
        again = f"{self._name}-again"
        restored = api.RestoreJobRequest(name=again, checkpoint=taken.checkpoint)
        persist(self._stub.RestoreJob, restored, "JOB_EXISTS")
        subscribe = api.Subscribe(
            job=again, from_step=last + 1, last_digest=taken.digest
        )
        # Refused where the history is another.
        persist(self._subscribe, api.StreamStepsRequest(subscribe=subscribe))
        self._lane.work.restores += 1
        self._delete(again)

    def _update(self) -> None:
        """Another shape from the next step on."""
        shape = self._spec.parallelism
        shape.micro_batches_per_rank += 1
        shape.context *= 2
        request = api.UpdateJobRequest(
            name=self._name, spec=self._spec, expected_epoch=0
        )
        try:
            persist(self._stub.UpdateJob, request, "EPOCH_ENDED")
        except grpc.RpcError as error:
            # It ran out of documents first.
            if error_of(error).code != "OUT_OF_RANGE":
                raise
            return
        self._lane.work.updates += 1

    def _check(self, producers: ProducerProcess, followers: RankProcess) -> None:
        followed = followers.await_all().values()
        sent = producers.await_all().values()
        for each in followed:
            if each.error is not None:
                raise AssertionError(f"job {self._name}: {each.error}")
        for told in sent:
            if told.error is not None or told.next_sequence != self._documents:
                raise AssertionError(f"job {self._name}: {told}")
        ranks = [each.steps for each in followed]
        for steps in ranks:
            step_checks.check_chain(steps)
        step_checks.check_ranks_agree(ranks)
        every = [step for steps in ranks for step in steps]
        streams = [(seed, self._documents) for seed in range(len(self._spec.streams))]
        step_checks.check_exactly_once(every, streams)
        work = self._lane.work
        work.steps += len(ranks[0])
        work.documents += self._documents * len(streams)
        work.reconnects += sum(each.reconnects for each in followed)
        work.reconnects += sum(each.reconnects for each in sent)

    def _delete(self, name: str) -> None:
        request = api.DeleteJobRequest(name=name)
        persist(self._stub.DeleteJob, request, "JOB_NOT_FOUND")
