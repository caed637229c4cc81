"""--health-listen: grpc.health.v1 on a port of its own, as a kubelet asks it."""

from __future__ import annotations

import unittest
from concurrent.futures import ThreadPoolExecutor

import grpc
import health_client
import reflection_client
from call_error import error_of
from deadline_channel import open_channel
from grpc_channelz.v1 import channelz_pb2, channelz_pb2_grpc
from health_client import NOT_SERVING, SERVICE, SERVING
from listening_process import ANY_PORT
from server_process import ServerProcess

SERVICES = ("", SERVICE, "evenpack.v1.CostProfileService")


class HealthPort:
    """The port of a server that has one."""

    def __init__(self, server: ServerProcess) -> None:
        """Reads where it is."""
        line = server.next_line() or ""
        self.channel = open_channel(line.removeprefix("health listening on "))


class HealthPortTest(unittest.TestCase):
    def setUp(self) -> None:
        self.server = self.enterContext(ServerProcess("--health-listen", ANY_PORT))
        self.port = HealthPort(self.server)

    def test_it_says_what_the_main_port_says(self) -> None:
        for service in SERVICES:
            for serves in (self.port, self.server):
                self.assertEqual(health_client.check(serves, service), SERVING)
        with self.assertRaises(grpc.RpcError) as caught:
            health_client.check(self.port, "evenpack.v1.Other")
        self.assertEqual(error_of(caught.exception).code, "NOT_FOUND")

    def test_a_drain_is_seen_on_it(self) -> None:
        watches = [health_client.watch(self.port, each) for each in SERVICES]
        self.assertEqual([next(watch) for watch in watches], [SERVING] * 3)
        with ThreadPoolExecutor(len(watches)) as pool:
            # Waited for when it comes: gRPC drops what nobody has asked for yet where a
            # connection ends right behind it.
            told = [pool.submit(next, watch) for watch in watches]
            self.assertEqual(self.server.terminate(), 0)
            self.assertEqual([each.result() for each in told], [NOT_SERVING] * 3)

    def test_nothing_else_is_there(self) -> None:
        # The main port has it, being on loopback.
        request = channelz_pb2.GetServersRequest()
        channelz_pb2_grpc.ChannelzStub(self.server.channel).GetServers(request)
        with self.assertRaises(grpc.RpcError) as caught:
            channelz_pb2_grpc.ChannelzStub(self.port.channel).GetServers(request)
        self.assertEqual(error_of(caught.exception).code, "UNIMPLEMENTED")
        with self.assertRaises(grpc.RpcError) as caught:
            reflection_client.services(self.port.channel)
        self.assertEqual(error_of(caught.exception).code, "UNIMPLEMENTED")
        call: grpc.UnaryUnaryMultiCallable[bytes, bytes]
        call = self.port.channel.unary_unary("/evenpack.v1.PackingService/ListJobs")
        with self.assertRaises(grpc.RpcError) as caught:
            call(b"")
        self.assertEqual(error_of(caught.exception).code, "UNIMPLEMENTED")


if __name__ == "__main__":
    unittest.main()
