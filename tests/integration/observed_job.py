"""A job with something to see: real lengths, trainers that follow, waiting outliers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import local_client
from child_process import wait_until
from evenpack.v1 import job_pb2
from evenpack.v1 import packing_service_pb2 as api
from rank import Subscription
from server_process import ServerProcess
from worker_process import RankProcess, subscription

LENGTHS = Path(os.environ["EVENPACK_SOURCE_DIR"], "deploy/data/lengths/wlbllm.txt")
WINDOW = 1 << 17
RANKS = 2


def observed_spec(
    *, streams: tuple[str, ...] = ("corpus",), micro_batches: int = 2, context: int = 4
) -> job_pb2.JobSpec:
    """Two DP ranks, wlb with two queues; a roomy buffer, and plans that stay."""
    return job_pb2.JobSpec(
        streams=[job_pb2.Stream(name=name) for name in streams],
        parallelism=job_pb2.Parallelism(
            data=RANKS, micro_batches_per_rank=micro_batches, context=context
        ),
        window=WINDOW,
        max_length=WINDOW + WINDOW // 2,
        policy=job_pb2.Policy(
            wlb=job_pb2.WlbPolicy(queue_thresholds=[3 * WINDOW // 8, 3 * WINDOW // 4])
        ),
        retention=job_pb2.Retention(checkpoints=1000),
        buffer_limits=job_pb2.BufferLimits(max_tokens=1 << 40),
    )


class ObservedJob:
    """Creates the job on a server, and feeds its first stream."""

    def __init__(
        self,
        server: ServerProcess,
        name: str = "run-7",
        spec: job_pb2.JobSpec | None = None,
    ) -> None:
        """Without a spec it is observed_spec()."""
        self.server = server
        self.name = name
        self._lengths = [int(line) for line in LENGTHS.read_text().split()]
        self._sent = 0
        created = local_client.create(server, name, spec or observed_spec())
        self._stream = created.spec.streams[0].name

    def feed(self, documents: int) -> None:
        """So many documents more."""
        first = self._sent
        sent = self._lengths[first : first + documents]
        self._sent += documents
        batch = local_client.batch(first_sequence=first, length=sent)
        opening = local_client.opening(self.name, self._stream)
        local_client.ingest(self.server, opening, batch)

    def feed_steps(self, steps: int) -> None:
        """Documents until there are so many steps."""
        wait_until(lambda: self._has(steps), f"{self.name} has {steps} steps")

    def _has(self, steps: int) -> bool:
        if self.held().next_step >= steps:
            return True
        self.feed(100)
        return False

    def held(self) -> job_pb2.Job:
        """What the server holds of it."""
        return local_client.get_job(self.server, self.name)

    def subscription(
        self,
        rank: int,
        subscriber: str | None = None,
        *,
        pause_after: int | None = None,
    ) -> Subscription:
        """That of a trainer that marks steps durable."""
        asked = api.Subscribe(
            job=self.name, dp_rank=rank, subscriber=subscriber or f"trainer-{rank}"
        )
        return subscription(f"{rank}", asked, pause_after=pause_after)

    def observer(self, subscriber: str) -> Subscription:
        """One that holds nobody back."""
        asked = api.Subscribe(job=self.name, subscriber=subscriber)
        return subscription(subscriber, asked, "received")

    def followers(self, *subscriptions: Subscription) -> RankProcess:
        """Trainers that follow, all that there are where none are given."""
        asked = subscriptions or tuple(self.subscription(rank) for rank in range(RANKS))
        return RankProcess(self.server.grpc_address, asked)

    def read(self, path: str = "") -> dict[str, Any]:
        """What the JSON API says of the job."""
        folder = f"/api/v1/jobs/{quote(self.name)}"
        status, text = self.server.get(folder + path)
        if status != 200:
            raise AssertionError(f"{folder}{path} answered {status}: {text}")
        answer: dict[str, Any] = json.loads(text)
        return answer
