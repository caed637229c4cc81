"""JoinGroup over real connections: restarts of members, and of the server."""

from __future__ import annotations

import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import grpc
import job_specs
import local_client
from call_error import error_of
from child_process import wait_until
from evenpack.v1 import packing_service_pb2 as api
from local_client import Conversation
from refusals import Refusal, RefusalTest, no_such_job, out_of_field
from server_process import ServerProcess

RANKS = 2


def seat(
    cp_rank: int, member: str, *, job: str = "job", dp_rank: int = 0, size: int = RANKS
) -> api.JoinGroupRequest:
    """The first message of JoinGroup."""
    opened = api.OpenGroup(
        job=job, dp_rank=dp_rank, cp_size=size, cp_rank=cp_rank, member=member
    )
    return api.JoinGroupRequest(open=opened)


def state(
    address: bytes, epoch: int = 0, *, connected: bool = False
) -> api.JoinGroupRequest:
    """What a member says."""
    now = api.MemberState(address=address, epoch=epoch, connected=connected)
    return api.JoinGroupRequest(state=now)


class Member:
    """One process of a group: it connects and gives up as it is told."""

    def __init__(self, cp_rank: int, name: str) -> None:
        """Knows of nothing yet."""
        self.cp_rank = cp_rank
        self.name = name
        self.epoch = 0
        self.connected = False
        self.peers: list[bytes] = []
        self.addresses = 0

    def join(self, server: ServerProcess, size: int = RANKS) -> None:
        """Opens a call."""
        opened = seat(self.cp_rank, self.name, size=size)
        self.call = Conversation(server.stub.JoinGroup, opened)
        self.say()
        if self.call.receive().WhichOneof("message") != "joined":
            raise AssertionError("the first answer is another")

    def say(self) -> None:
        """Tells how it stands, with an address that is used once."""
        self.addresses += 1
        address = f"{self.name}/{self.addresses}".encode()
        self.call.send(state(address, self.epoch, connected=self.connected))

    def take(self) -> str:
        """Does what it is told next, which is named."""
        told = self.call.receive()
        kind = told.WhichOneof("message") or ""
        if kind == "connect":
            self.epoch = told.connect.epoch
            self.peers = list(told.connect.addresses)
        if kind in {"connect", "give_up"}:
            self.connected = kind == "connect"
            self.say()
        return kind

    def take_until_it_stands(self) -> None:
        """To the epoch in which all are connected."""
        while self.take() != "stands":
            pass

    def lose_peers(self) -> None:
        """As after an exchange that failed."""
        self.connected = False
        self.say()


def await_all(members: list[Member]) -> None:
    """Each does what it is told, until it stands."""
    with ThreadPoolExecutor(len(members)) as pool:
        for done in [pool.submit(each.take_until_it_stands) for each in members]:
            done.result()


class GroupTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.store = f"sqlite:{Path(folder) / 'store'}"
        self.server = ServerProcess("--store", self.store)
        self.addCleanup(lambda: self.server.__exit__(None, None, None))
        local_client.create(self.server, "job", job_specs.small_spec(context=RANKS))
        self.members = [Member(rank, f"m{rank}") for rank in range(RANKS)]
        self.form()

    def form(self) -> None:
        for member in self.members:
            member.join(self.server)
        self.await_standing()

    def await_standing(self) -> None:
        await_all(self.members)
        self.assertEqual({member.epoch for member in self.members}, {self.epoch})
        for member in self.members:
            self.assertEqual(member.peers, self.members[0].peers)
            owner = member.peers[member.cp_rank].decode().split("/")[0]
            self.assertEqual(owner, member.name)

    @property
    def epoch(self) -> int:
        return self.members[0].epoch

    def restart_server(self) -> None:
        address = self.server.grpc_address
        self.server.kill()
        self.server.__exit__(None, None, None)
        self.server = ServerProcess("--store", self.store, listen=address)

    def test_a_group_forms_and_is_counted(self) -> None:
        self.assertEqual(self.epoch, 1)
        for name, value in (("group_members", RANKS), ("groups", 1)):
            metric = f'evenpack_job_{name}{{job="job"}}'
            self.assertEqual(self.server.metric(metric), value)
        self.assertEqual(
            self.server.metric('evenpack_job_groups_standing{job="job"}'), 1
        )
        self.assertEqual(self.server.metric("evenpack_group_streams"), RANKS)

    def test_a_member_that_was_restarted_is_connected_to(self) -> None:
        self.members[1].call.__exit__()
        self.members[1] = Member(1, "restarted")
        self.members[1].join(self.server)
        self.await_standing()
        self.assertEqual(self.epoch, 2)

    def test_peers_that_one_lost_are_connected_to_anew(self) -> None:
        self.members[0].lose_peers()
        self.await_standing()
        self.assertEqual(self.epoch, 2)

    def test_a_restart_of_the_server_leaves_the_group_as_it_is(self) -> None:
        self.members[1].lose_peers()
        self.await_standing()
        peers = self.members[0].peers
        self.restart_server()
        self.form()
        self.assertEqual(self.epoch, 2)
        self.assertEqual(self.members[0].peers, peers)
        # Nor does it count epochs anew.
        self.members[0].lose_peers()
        self.await_standing()
        self.assertEqual(self.epoch, 3)

    def test_a_member_and_the_server_restart_at_once(self) -> None:
        self.restart_server()
        self.members[0] = Member(0, "restarted")
        self.form()
        self.assertEqual(self.epoch, 2)

    def test_a_drain_sends_members_away_and_the_group_computes_on(self) -> None:
        self.assertEqual(self.server.terminate(), 0)
        for member in self.members:
            with self.assertRaises(grpc.RpcError) as caught:
                member.call.receive()
            error = error_of(caught.exception)
            self.assertEqual((error.code, error.reason), ("UNAVAILABLE", "DRAINING"))
        self.restart_server()
        self.form()
        self.assertEqual(self.epoch, 1)

    def test_a_job_of_another_size_has_other_groups(self) -> None:
        spec = job_specs.small_spec(context=2 * RANKS)
        self.server.stub.UpdateJob(api.UpdateJobRequest(name="job", spec=spec))
        # It executes steps of the shape before.
        self.members[0].lose_peers()
        self.await_standing()
        others = [Member(rank, f"o{rank}") for rank in range(2 * RANKS)]
        for other in others:
            other.join(self.server, 2 * RANKS)
        await_all(others)
        for other in others:
            self.assertEqual(len(other.peers), 2 * RANKS)
            other.call.__exit__()
        metric = 'evenpack_job_groups{job="job"}'
        wait_until(lambda: self.server.metric(metric) == 1, "they are gone")


FIRST = state(b"h:1")
CASES: list[tuple[list[api.JoinGroupRequest], Refusal]] = [
    ([], out_of_field("message", "none", "open, then state")),
    ([FIRST], out_of_field("message", "another message", "open as the first")),
    ([seat(0, "a")], out_of_field("message", "none", "open, then state")),
    ([seat(0, "a"), seat(0, "a")], out_of_field("message", "a second open", "state")),
    (
        [seat(0, "a"), api.JoinGroupRequest()],
        out_of_field("message", "nothing", "state"),
    ),
    ([seat(0, "a", job="other")], no_such_job("other")),
    ([seat(0, "a", dp_rank=2)], out_of_field("open.dp_rank", 2, "0 to 1")),
    ([seat(2, "a")], out_of_field("open.cp_rank", 2, "0 to 1")),
    ([seat(0, "")], out_of_field("open.member", "0 bytes", "1 to 256 bytes")),
    (
        [seat(0, "a" * 257)],
        out_of_field("open.member", "257 bytes", "1 to 256 bytes"),
    ),
    (
        [seat(0, "a", size=4)],
        Refusal(
            "FAILED_PRECONDITION",
            ("cp_size: 4 is not accepted; accepted: 2, the job's",),
            "GROUP_SIZE_DIFFERS",
            {"context_parallel": "2"},
        ),
    ),
    (
        [seat(0, "a"), state(b"")],
        out_of_field("state.address", "0 bytes", "1 to 65536 bytes"),
    ),
    (
        [seat(0, "a"), state(bytes(65537))],
        out_of_field("state.address", "65537 bytes", "1 to 65536 bytes"),
    ),
    (
        [seat(0, "a"), state(b"h:1", 2**63)],
        out_of_field("state.epoch", 2**63, "0 to 4611686018427387904"),
    ),
    (
        [seat(0, "a"), state(b"h:1", connected=True)],
        out_of_field("state.connected", "true in epoch 0", "an epoch from 1"),
    ),
]


def join(
    server: ServerProcess, messages: list[api.JoinGroupRequest]
) -> list[api.JoinGroupResponse]:
    """All answers to these messages."""
    return list(server.stub.JoinGroup(iter(messages)))


class GroupRefusalTest(RefusalTest):
    def test_what_is_no_seat_or_state_is_refused_by_name(self) -> None:
        with ServerProcess() as server:
            local_client.create(server, "job", job_specs.small_spec(context=RANKS))
            for messages, expected in CASES:
                with self.subTest(expected=expected):
                    error = self.refused(partial(join, server, messages))
                    self.check(error, expected, api.JoinGroupRequest)

    def test_a_newer_call_takes_the_seat(self) -> None:
        with ServerProcess() as server:
            local_client.create(server, "job", job_specs.small_spec(context=1))
            messages = seat(0, "a", size=1), FIRST
            with Conversation(server.stub.JoinGroup, *messages) as before:
                self.assertTrue(before.receive().HasField("joined"))
                self.assertEqual(before.receive().connect.epoch, 1)
                newer = seat(0, "b", size=1), FIRST
                with Conversation(server.stub.JoinGroup, *newer) as after:
                    self.assertTrue(after.receive().HasField("joined"))
                    self.assertEqual(after.receive().connect.epoch, 2)
                    error = self.refused(before.rest)
                    expected = Refusal(
                        "ABORTED",
                        ("was taken by a newer call",),
                        "SEAT_TAKEN",
                        {"member": "a"},
                    )
                    self.check(error, expected, api.JoinGroupRequest)


if __name__ == "__main__":
    unittest.main()
