"""Specs of the jobs that the tests create."""

from __future__ import annotations

from collections.abc import Sequence

import documents
from evenpack.v1 import job_pb2

STREAMS = ("web", "code")
ROOMY = 1 << 30


def small_spec(
    streams: Sequence[str] = STREAMS,
    *,
    data: int = 2,
    micro_batches: int = 2,
    context: int = 2,
    window: int = documents.LONGEST,
    steps_ahead: int = 1024,
    roomy: bool = False,
) -> job_pb2.JobSpec:
    """Variable-length packing with two outlier queues; steps of about 60 documents.

    `roomy`: one stream may be sent as a whole while others have not begun.
    """
    return job_pb2.JobSpec(
        streams=[job_pb2.Stream(name=name) for name in streams],
        parallelism=job_pb2.Parallelism(
            data=data, micro_batches_per_rank=micro_batches, context=context
        ),
        window=window,
        max_length=window + window // 2,
        policy=job_pb2.Policy(
            wlb=job_pb2.WlbPolicy(queue_thresholds=[window // 4, window // 2])
        ),
        retention=job_pb2.Retention(max_steps_ahead=steps_ahead),
        buffer_limits=job_pb2.BufferLimits(max_tokens=ROOMY if roomy else 0),
    )


def balanced_spec(
    streams: Sequence[str] = STREAMS,
    *,
    data: int = 2,
    micro_batches: int = 2,
    steps_ahead: int = 1024,
    roomy: bool = False,
) -> job_pb2.JobSpec:
    """`small_spec`, but balanced, placed on two pipeline stages, under hybrid sharding.

    With a bound on delay, and half the window as attention's crossover.
    """
    spec = small_spec(
        streams,
        data=data,
        micro_batches=micro_batches,
        steps_ahead=steps_ahead,
        roomy=roomy,
    )
    spec.policy.balanced.SetInParent()
    spec.parallelism.pipeline = 2
    spec.sharding = job_pb2.SHARDING_HYBRID
    spec.max_delay = 6
    spec.cost.quadratic.crossover_tokens = spec.window // 2
    return spec
