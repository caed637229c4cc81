"""A program: many subscribers of one job, each of which takes every step.

    crowd.py SERVER JOB RANKS SUBSCRIBERS

Prints `subscribed` once all are, then one line for each when all have ended: its DP
rank, the code with which its call ended, the number of its steps, and the SHA-256 of
the bytes that it got after its first answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys

import grpc
from evenpack.v1 import packing_service_pb2 as api
from rank import METHOD

CONNECTIONS = 8


async def follow(
    channel: grpc.aio.Channel, subscribe: api.Subscribe, subscribed: asyncio.Barrier
) -> str:
    """One subscription, to the end of the job."""
    method: grpc.aio.StreamStreamMultiCallable[api.StreamStepsRequest, bytes]
    method = channel.stream_stream(
        METHOD, request_serializer=api.StreamStepsRequest.SerializeToString
    )
    call = method()
    await call.write(api.StreamStepsRequest(subscribe=subscribe))
    await call.read()
    await subscribed.wait()
    content = hashlib.sha256()
    steps = 0
    while isinstance(raw := await call.read(), bytes):
        content.update(raw)
        if api.StreamStepsResponse.FromString(raw).HasField("drained"):
            await call.done_writing()
        else:
            steps += 1
    code = (await call.code()).name
    return f"{subscribe.dp_rank} {code} {steps} {content.hexdigest()}"


async def main(server: str, job: str, ranks: int, subscribers: int) -> None:
    """Follows the job to its end."""
    # Of their own, or they would share one connection.
    options = [("grpc.use_local_subchannel_pool", 1)]
    channels = [
        grpc.aio.insecure_channel(server, options=options) for _ in range(CONNECTIONS)
    ]
    subscribed = asyncio.Barrier(subscribers + 1)
    calls = [
        asyncio.create_task(
            follow(
                channels[i % CONNECTIONS],
                api.Subscribe(
                    job=job, dp_rank=i % ranks, subscriber=f"{i}", credits=1 << 20
                ),
                subscribed,
            )
        )
        for i in range(subscribers)
    ]
    await subscribed.wait()
    print("subscribed", flush=True)
    for line in await asyncio.gather(*calls):
        print(line)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
