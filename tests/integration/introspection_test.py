"""What generic tools ask of a gRPC server: health, reflection, channelz, HTTP pages."""

from __future__ import annotations

import unittest
from collections.abc import Iterator

import grpc
import health_client
import job_specs
import local_client
from call_error import error_of
from evenpack.v1 import packing_service_pb2 as api
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from grpc_channelz.v1 import channelz_pb2, channelz_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)
from health_client import NOT_SERVING, SERVICE, SERVING
from server_process import ServerProcess


def messages_below(message: Descriptor, seen: set[str]) -> Iterator[Descriptor]:
    """A message and all that its fields hold."""
    if message.full_name in seen:
        return
    seen.add(message.full_name)
    yield message
    for field in message.fields:
        if field.message_type is not None:
            yield from messages_below(field.message_type, seen)


def shape_of(field: FieldDescriptor) -> tuple[str, int, int, bool]:
    """What must be alike for two ends to understand each other."""
    return field.name, field.number, field.type, field.is_repeated


class HealthTest(unittest.TestCase):
    def setUp(self) -> None:
        self.server = self.enterContext(ServerProcess())

    def test_check(self) -> None:
        for service in ("", SERVICE):
            self.assertEqual(health_client.check(self.server, service), SERVING)
        with self.assertRaises(grpc.RpcError) as caught:
            health_client.check(self.server, "evenpack.v1.Other")
        self.assertEqual(error_of(caught.exception).code, "NOT_FOUND")

    def test_watch_tells_the_end(self) -> None:
        watches = [health_client.watch(self.server, each) for each in ("", SERVICE)]
        self.assertEqual([next(watch) for watch in watches], [SERVING] * 2)
        self.server.terminate()
        self.assertEqual([next(watch) for watch in watches], [NOT_SERVING] * 2)

    def test_http_pages(self) -> None:
        for path in ("/healthz", "/readyz"):
            self.assertEqual(self.server.get(path)[0], 200)
        status, text = self.server.get("/pages")
        self.assertEqual(status, 200)
        for path in ("/", "/metrics", "/healthz", "/readyz", "/page"):
            self.assertIn(path, text)
        self.assertEqual(self.server.get("/nothing")[0], 404)


class ReflectionTest(unittest.TestCase):
    def test_the_service_and_its_messages_resolve(self) -> None:
        server = self.enterContext(ServerProcess())
        database = ProtoReflectionDescriptorDatabase(server.channel)
        services = set(database.get_services())
        self.assertLessEqual({SERVICE, "grpc.health.v1.Health"}, services)
        pool = descriptor_pool.DescriptorPool(database)
        service = pool.FindServiceByName(SERVICE)
        expected = api.DESCRIPTOR.services_by_name["PackingService"]
        self.assertEqual(
            [method.name for method in service.methods],
            [method.name for method in expected.methods],
        )
        seen: set[str] = set()
        for method in expected.methods:
            for root in (method.input_type, method.output_type):
                for message in messages_below(root, seen):
                    told = pool.FindMessageTypeByName(message.full_name)
                    self.assertEqual(
                        [shape_of(field) for field in told.fields],
                        [shape_of(field) for field in message.fields],
                    )
        self.assertGreater(len(seen), 40)


class ChannelzTest(unittest.TestCase):
    def ask(self, server: ServerProcess) -> channelz_pb2.GetServersResponse:
        channelz = channelz_pb2_grpc.ChannelzStub(server.channel)
        told: channelz_pb2.GetServersResponse = channelz.GetServers(
            channelz_pb2.GetServersRequest()
        )
        return told

    def assert_absent(self, server: ServerProcess) -> None:
        with self.assertRaises(grpc.RpcError) as caught:
            self.ask(server)
        self.assertEqual(error_of(caught.exception).code, "UNIMPLEMENTED")

    def test_it_answers_on_loopback(self) -> None:
        with ServerProcess() as server:
            local_client.create(server, "job", job_specs.small_spec())
            told = self.ask(server).server
            self.assertEqual(len(told), 1)
            self.assertGreaterEqual(told[0].data.calls_succeeded, 1)
            port = int(server.grpc_address.rpartition(":")[2])
            channelz = channelz_pb2_grpc.ChannelzStub(server.channel)
            connections = channelz.GetServerSockets(
                channelz_pb2.GetServerSocketsRequest(server_id=told[0].ref.server_id)
            ).socket_ref
            ports = [
                channelz.GetSocket(
                    channelz_pb2.GetSocketRequest(socket_id=each.socket_id)
                ).socket.local.tcpip_address.port
                for each in connections
            ]
            self.assertEqual(ports, [port])

    def test_it_can_be_off(self) -> None:
        with ServerProcess("--channelz", "off") as server:
            self.assert_absent(server)

    def test_it_is_off_where_others_can_reach_it_unless_asked_for(self) -> None:
        with ServerProcess("--insecure", listen="0.0.0.0:0") as server:
            self.assertTrue(server.grpc_address.startswith("0.0.0.0:"))
            self.assert_absent(server)
        with ServerProcess(
            "--insecure", "--channelz", "on", listen="0.0.0.0:0"
        ) as server:
            self.assertEqual(len(self.ask(server).server), 1)


if __name__ == "__main__":
    unittest.main()
