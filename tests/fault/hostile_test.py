"""Peers that hang, flood, trickle and never stop, while another job makes its steps.

hostile_test.py [--connections N]
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import threading
import unittest
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import grpc
import http2_frames as h2
import job_specs
import local_client
from child_process import wait_until
from deadline_channel import open_channel
from evenpack.v1 import packing_service_pb2 as api
from evenpack.v1 import packing_service_pb2_grpc as rpc
from google.protobuf.message import Message
from guard_watch import GuardJob
from process_figures import figures_of
from raw_peer import SERVICE, RawPeer, connected
from storm_callers import StormServer
from tls_cases import whole_hello
from windowed_peer import WindowedPeer

# Of the other job, during each attack.
STEPS = 20
MEGABYTE = 1 << 20
KEEPALIVE = ("--keepalive-seconds", "1", "--keepalive-timeout-seconds", "1")
# What a consumer says that it takes, so that its socket alone holds the server back.
WIDE = (1 << 31) - 1
# Memory that an attack may take. Most of it is what the allocator keeps.
MOST_MEGABYTES = 384
# And one by calls that are reset: 2,000 of a connection, and those that come until it
# is cut.
MOST_OF_RESETS = 768

GET_JOB = h2.call_fields(f"{SERVICE}/GetJob")
# Sent once, then again and again.
FLOODS: dict[str, tuple[bytes, bytes]] = {
    "continuations": (
        h2.headers(1, GET_JOB, 0),
        h2.frame(h2.CONTINUATION, 0, 1, h2.field_block([(b"x", b"v" * 16000)])),
    ),
    "a header field's name without an end": (
        h2.frame(h2.HEADERS, 0, 1, b"\x00" + h2.integer(1 << 30, 7)),
        h2.frame(h2.CONTINUATION, 0, 1, bytes(16384)),
    ),
    "settings": (b"", h2.settings((h2.INITIAL_WINDOW_SIZE, 65535)) * 500),
    "pings": (b"", h2.ping(b"flooding") * 500),
    "priorities": (b"", h2.frame(h2.PRIORITY, 0, 1, bytes(5)) * 500),
    "empty messages": (h2.headers(1, GET_JOB), h2.frame(h2.DATA, 0, 1) * 500),
}


def calls_of(method: str, message: Message, count: int) -> bytes:
    """Calls of one connection that stay open, each with its message."""
    fields = h2.call_fields(f"{SERVICE}/{method}")
    raw = h2.message(message.SerializeToString())
    return b"".join(
        h2.headers(stream, fields) + h2.data(stream, raw)
        for stream in range(1, 2 * count, 2)
    )


def resets_of(method: str, message: Message) -> Callable[[int], bytes]:
    """Calls that are opened and reset at once, a hundred from a stream's number on."""
    fields = h2.call_fields(f"{SERVICE}/{method}")
    raw = h2.message(message.SerializeToString())
    one = h2.headers(0, fields), h2.data(0, raw), h2.reset(0)

    def of(stream: int) -> bytes:
        number = stream.to_bytes(4, "big")
        return b"".join(each[:5] + number + each[9:] for each in one)

    return lambda first: b"".join(of(first + 2 * i) for i in range(100))


def flood_of(first: bytes, again: bytes) -> Callable[[RawPeer], Iterator[bytes]]:
    """An attack that sends the one, then the other without an end."""

    def attack(_: RawPeer) -> Iterator[bytes]:
        yield first
        while True:
            yield again

    return attack


class HostileTest(unittest.TestCase):
    connections = 1000

    def serve(self, *flags: str, secured: Path | None = None) -> None:
        self.server = self.enterContext(
            StormServer(["--log-level", "warning", *flags], secured)
        )
        self.address = self.server.grpc_address
        self.guard = self.enterContext(GuardJob(self.address, self.server.authority))
        self.guard.step()
        self.before = figures_of(self.server.pid)

    def check_guard(self, steps: int = STEPS) -> None:
        """The other job goes on."""
        for _ in range(steps):
            self.guard.step()

    def await_cut(self, because: str, said: int = 0) -> None:
        """Until the log says so, after so much of it; a peer sees it before."""
        wait_until(lambda: because in self.server.stderr()[said:], f"a cut: {because}")

    def check_memory(self, megabytes: int = MOST_MEGABYTES) -> None:
        grown = figures_of(self.server.pid).resident_bytes - self.before.resident_bytes
        self.assertLess(grown, megabytes * MEGABYTE)

    def check_calm(self) -> None:
        """What the peers held is free again, and the other job lost nothing."""
        wait_until(
            lambda: figures_of(self.server.pid).descriptors <= self.before.descriptors,
            f"at most {self.before.descriptors} descriptors",
        )
        self.check_guard(1)
        self.assertGreater(self.guard.end(), 0)

    def peer(self, **options: int) -> RawPeer:
        return self.enterContext(RawPeer(self.address, **options))

    @contextmanager
    def attacked(self, attack: Callable[[RawPeer], Iterator[bytes]]) -> Iterator[None]:
        """A peer sends what the attack gives, and connects again where it is cut."""
        over = threading.Event()
        begun = threading.Event()

        def run() -> None:
            while not over.is_set():
                with RawPeer(self.address, receive_buffer=4096) as peer:
                    for raw in attack(peer):
                        taken = peer.send_while_taken([raw])
                        begun.set()
                        if over.is_set() or not taken:
                            break

        thread = threading.Thread(target=run)
        thread.start()
        try:
            self.assertTrue(begun.wait(30))
            yield
        finally:
            over.set()
            thread.join()

    def test_half_open_links_are_cut_and_their_places_are_free_again(self) -> None:
        places = 4
        kinds = ("step", "ingest", "group")
        # The other job has two of steps and of ingest.
        limits = [f"--max-{kind}-streams={places + 2}" for kind in kinds]
        self.serve(*KEEPALIVE, *limits)
        local_client.create(self.server, "job", job_specs.small_spec())
        subscribe = local_client.subscribing("job", subscriber="hung")
        opening = local_client.opening("job", "web")
        peers = [self.peer() for _ in range(places)]
        for peer in peers:
            peer.call("StreamSteps", subscribe)
            peer.call("Ingest", opening)
            peer.call("JoinGroup")
        self.check_guard()
        for peer in peers:
            peer.await_close()
        self.check_guard()
        for _ in range(places):
            steps = local_client.open_steps(self.server, subscribe)
            self.enterContext(steps).receive()
            ingest = local_client.open_ingest(self.server, opening)
            self.enterContext(ingest).receive()

    def test_a_consumer_that_never_reads_holds_little_and_nobody(self) -> None:
        self.serve()
        made = job_specs.small_spec(roomy=True)
        local_client.create(self.server, "job", made)
        local_client.fill(self.server, "job", job_specs.STREAMS, 30_000)
        self.before = figures_of(self.server.pid)
        for number in range(16):
            peer = self.peer(window=WIDE, receive_buffer=4096)
            rank = number % 2
            asked = local_client.subscribing(
                "job", dp_rank=rank, subscriber=f"{number}", credits=1 << 20
            )
            peer.call("StreamSteps", asked)
        self.check_guard()
        # Another one of the same job gets them all meanwhile.
        steps = local_client.get_job(self.server, "job").next_step
        self.assertGreater(steps, 500)
        self.assertEqual(len(local_client.steps_of(self.server, "job")), steps)
        self.check_guard()
        self.check_memory()

    def test_a_producer_that_never_stops_is_held_back(self) -> None:
        self.serve()
        local_client.create(self.server, "job", job_specs.small_spec(steps_ahead=8))
        peer = self.peer()
        call = peer.call("Ingest", local_client.opening("job", "web"))

        def batch(number: int) -> bytes:
            sent = local_client.batch(
                first_sequence=5000 * number, length=[1] * 5000, id=[1 << 63] * 5000
            )
            return h2.data(call, h2.message(sent.SerializeToString()))

        # Without a look at the window. Where the server has ended the call for that, it
        # passes over the rest.
        peer.send_while_taken(batch(number) for number in range(2000))
        web, _ = local_client.get_job(self.server, "job").streams
        self.assertGreater(web.buffered_documents, 0)
        self.assertLess(web.buffered_documents, 100_000)
        self.check_guard()
        self.check_memory()

    def test_floods_of_frames_hold_nobody_up(self) -> None:
        self.serve()
        for name, frames in FLOODS.items():
            with self.subTest(name), self.attacked(flood_of(*frames)):
                self.check_guard()
                self.check_memory()
        self.check_calm()

    def test_who_sends_much_and_calls_nothing_is_cut(self) -> None:
        self.serve()
        with self.attacked(flood_of(*FLOODS["continuations"])):
            self.await_cut("it sends much and calls nothing")
        self.check_memory()
        self.check_calm()

    def test_a_long_message_of_a_unary_call_may_take_its_time(self) -> None:
        """Its call comes with it: till then the connection calls nothing."""
        self.serve()
        with WindowedPeer(self.address) as peer:
            peer.send_unfinished("RestoreJob", 1, 15 * MEGABYTE)
            self.assertGreater(peer.sent, 14 * MEGABYTE)
            # Who is cut was looked at, and the peer with it.
            with self.attacked(flood_of(*FLOODS["continuations"])):
                self.await_cut("it sends much and calls nothing")
            peer.await_ping()
        self.check_calm()

    def test_messages_without_an_end_take_little_memory(self) -> None:
        self.serve("--max-unclaimed-bytes", f"{256 * MEGABYTE}")
        for calls, size, because in (
            (1, 2048 * MEGABYTE, "it sends much and calls nothing"),
            (1000, 15 * MEGABYTE, "the most bytes without a call or a whole message"),
        ):
            with self.subTest(calls=calls), WindowedPeer(self.address) as peer:
                thread = threading.Thread(
                    target=peer.send_unfinished, args=("Ingest", calls, size)
                )
                thread.start()
                self.check_guard()
                thread.join()
                self.await_cut(because)
                self.assertLess(peer.sent, MOST_MEGABYTES * MEGABYTE)
                self.check_memory()
        self.check_calm()

    def test_who_resets_calls_as_fast_as_it_opens_them_is_cut(self) -> None:
        """CVE-2023-44487: else calls would pile up without a bound."""
        self.serve()
        calls: list[tuple[str, Message]] = [
            ("GetJob", api.GetJobRequest(name="guard")),
            ("Ingest", local_client.opening("guard", "none")),
            ("StreamSteps", local_client.subscribing("guard", subscriber="x")),
        ]
        for method, message in calls:
            reset = resets_of(method, message)

            def attack(
                _: RawPeer, reset: Callable[[int], bytes] = reset
            ) -> Iterator[bytes]:
                return (reset(first) for first in range(1, 1 << 30, 200))

            said = len(self.server.stderr())
            with self.subTest(method), self.attacked(attack):
                self.check_guard()
                # On a busy machine it takes a while to be as fast.
                self.await_cut("it cancels calls faster", said)
        self.check_memory(MOST_OF_RESETS)
        self.check_calm()

    def test_who_drops_calls_as_fast_as_it_opens_them_is_held_back(self) -> None:
        self.serve()
        opened = local_client.subscribing("guard", subscriber="x")
        calls = calls_of("StreamSteps", opened, 150)

        def drop(*, answered: bool) -> None:
            for _ in range(500):
                with RawPeer(self.address) as peer:
                    peer.send(calls)
                    # Else most have left before they are accepted.
                    if answered:
                        peer.await_bytes()
                    peer.reset()

        for answered in (False, True):
            with self.subTest(answered=answered), ThreadPoolExecutor(4) as pool:
                drops = [pool.submit(drop, answered=answered) for _ in range(4)]
                while not all(each.done() for each in drops):
                    self.check_guard(1)
                    self.check_memory()
                    descriptors = figures_of(self.server.pid).descriptors
                    self.assertLess(descriptors, self.before.descriptors + 100)
                for each in drops:
                    each.result()
        self.check_calm()

    def test_who_trickles_is_cut_and_others_are_served(self) -> None:
        self.serve("--keepalive-seconds", "1")
        http = self.server.http_address
        with ExitStack() as held:
            slow = [
                held.enter_context(connected(address))
                for address in (self.address, http)
                for _ in range(100)
            ]
            for byte in h2.PREFACE[:8]:
                for each in slow:
                    # The HTTP port gives up those beyond its places.
                    with self.subTest(), self.may_be_gone():
                        each.send(bytes([byte]))
                self.check_guard(2)
                self.assertEqual(self.server.get("/healthz")[0], 200)
            # In a second, those of gRPC; in five, those of HTTP.
            self.check_calm()

    def test_who_does_not_end_a_handshake_is_cut(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.serve("--keepalive-seconds", "1", secured=folder)
        hello = b"".join(whole_hello(random.Random(0)))
        with ExitStack() as held:
            for number in range(200):
                slow = held.enter_context(connected(self.address))
                # Some only in the middle of what they say first.
                slow.sendall(hello[: None if number % 2 == 0 else 100])
            self.check_guard()
            self.check_calm()
        self.check_memory()

    @contextmanager
    def may_be_gone(self) -> Iterator[None]:
        try:
            yield
        except ConnectionError:
            return

    def test_more_connections_than_descriptors(self) -> None:
        self.serve()
        limit = self.before.descriptors + 100
        resource.prlimit(
            self.server.pid,
            resource.RLIMIT_NOFILE,
            (limit, resource.prlimit(0, resource.RLIMIT_NOFILE)[1]),
        )
        with ExitStack() as held:
            for _ in range(2 * limit):
                held.enter_context(connected(self.address))
            self.check_guard()
            self.assertEqual(self.server.get("/healthz")[0], 200)
            self.assertLess(figures_of(self.server.pid).descriptors, limit)
            self.assertIn("connections refused", self.server.stderr())
        # gRPC itself would listen no more.
        options = [("grpc.use_local_subchannel_pool", 1)]
        with open_channel(self.address, options) as channel:
            stub: rpc.PackingServiceStub = rpc.PackingServiceStub(channel)
            wait_until(lambda: self.listed(stub), "a new connection")
        self.check_calm()

    @staticmethod
    def listed(stub: rpc.PackingServiceStub) -> bool:
        try:
            return len(stub.ListJobs(api.ListJobsRequest()).jobs) == 1
        except grpc.RpcError as error:
            # Refused while the others were not all gone.
            if error.code() != grpc.StatusCode.UNAVAILABLE:
                raise
            return False

    def test_idle_connections(self) -> None:
        self.serve()
        with ExitStack() as held:
            for _ in range(self.connections):
                held.enter_context(RawPeer(self.address))
                held.enter_context(connected(self.server.http_address))
            self.check_guard()
            self.assertEqual(self.server.get("/healthz")[0], 200)
            # About 24 KB for each of gRPC's.
            self.check_memory(MOST_MEGABYTES + self.connections // 20)
        self.check_calm()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--connections", type=int, default=HostileTest.connections)
    options, rest = parser.parse_known_args()
    HostileTest.connections = options.connections
    unittest.main(argv=[sys.argv[0], *rest])
