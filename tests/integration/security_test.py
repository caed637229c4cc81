"""TLS and roles while the server runs: changed files, HTTP, what logs never have."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import socket
import ssl
import subprocess
import unittest
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import job_specs
import local_client
import reflection_client
from call_error import error_of
from child_process import DEADLINE, ChildProcess, wait_until
from evenpack.v1 import packing_service_pb2 as api
from evenpack.v1 import packing_service_pb2_grpc as rpc
from health_client import SERVICE
from listening_process import ANY_PORT
from role_callers import (
    Caller,
    CallerCertificates,
    Connections,
    hash_of,
    temporary_folder,
    tls_flags,
)
from server_process import PROGRAM, ServerProcess

SOURCE = Path(os.environ["EVENPACK_SOURCE_DIR"])
JOB = "run-7"
TOKEN = "the-token-of-the-feed"
BAD_INPUT = 2


def grant(role: str, *, subject: str = "", token: str = "", jobs: str = "*") -> str:
    """One of a roles file."""
    subjects = f"'{subject}'" if subject else ""
    tokens = f"'feed:{hash_of(token)}'" if token else ""
    return (
        f"  - {{role: {role}, jobs: ['{jobs}'], "
        f"subjects: [{subjects}], tokens: [{tokens}]}}\n"
    )


OPERATOR = grant("operator", subject="CN=operator")
CONSUMER = grant("consumer", subject="CN=consumer")
FEED = grant("producer", token=TOKEN)


class SecuredTest(unittest.TestCase):
    """One server, whose files each test may change."""

    folder: Path
    certificates: CallerCertificates
    server: ServerProcess
    connections: Connections

    def start(
        self,
        *flags: str,
        grants: str = OPERATOR + CONSUMER + FEED,
        clients: str = "request",
    ) -> None:
        """With a job."""
        self.folder = temporary_folder(self.enterContext)
        self.certificates = CallerCertificates(self.folder)
        for name in ("operator", "consumer"):
            self.certificates.add(name, f"/CN={name}")
        for name in ("live.pem", "live.key"):
            shutil.copy(
                self.folder / name.replace("live", "server"), self.folder / name
            )
        self.write_roles(grants)
        self.server = self.enterContext(
            ServerProcess(
                *tls_flags(self.certificates, name="live", clients=clients),
                *("--roles", f"{self.roles}", "--log-level", "debug", *flags),
            )
        )
        self.connections = Connections(self.server, self.certificates)
        self.addCleanup(self.connections.close)
        created = api.CreateJobRequest(name=JOB, spec=job_specs.small_spec(["web"]))
        self.connections.call(Caller("operator"), "CreateJob", created)

    @property
    def roles(self) -> Path:
        """The file."""
        return self.folder / "roles.yaml"

    def replace(self, path: Path, text: str) -> None:
        """As a careful program writes: at once."""
        new = path.with_suffix(".new")
        new.write_text(text)
        new.replace(path)

    def write_roles(self, grants: str) -> None:
        """All grants anew."""
        self.replace(self.roles, "grants:\n" + grants if grants else "grants: []\n")

    def await_log(self, event: str, times: int = 1) -> None:
        """Until the server has logged it so often."""
        wait_until(lambda: self.server.stderr().count(event) >= times, event)

    def open_steps(
        self, certificate: str, rank: int = 0
    ) -> local_client.Conversation[api.StreamStepsRequest, api.StreamStepsResponse]:
        """A subscription that has begun."""
        steps = local_client.Conversation(
            self.connections.stub(Caller(certificate), "StreamSteps"),
            local_client.subscribing(JOB, credits=100, dp_rank=rank),
        )
        self.enterContext(steps)
        self.assertTrue(steps.receive().HasField("subscribed"))
        return steps

    def ended(self, call: grpc.RpcError) -> tuple[str, str]:
        """Code and reason."""
        error = error_of(call)
        return error.code, error.reason

    def feed(self, first: int, count: int) -> None:
        """Documents for some steps."""
        stub = self.connections.stub(Caller(), "Ingest")
        messages = [
            local_client.opening(JOB, "web"),
            local_client.batch(length=[4000] * count, first_sequence=first),
        ]
        bearer = [("authorization", f"Bearer {TOKEN}")]
        list(stub(iter(messages), metadata=bearer, timeout=DEADLINE))


class ChangedRolesTest(SecuredTest):
    def test_a_stream_whose_role_is_gone_ends_and_others_go_on(self) -> None:
        self.start()
        operator, consumer = self.open_steps("operator", 1), self.open_steps("consumer")
        group = local_client.Conversation(
            self.connections.stub(Caller("consumer"), "JoinGroup"),
            api.JoinGroupRequest(open=api.OpenGroup(job=JOB, cp_size=2, member="a")),
            api.JoinGroupRequest(state=api.MemberState(address=b"a:1")),
        )
        self.enterContext(group)
        self.assertTrue(group.receive().HasField("joined"))
        self.write_roles(OPERATOR + FEED + grant("producer", subject="CN=consumer"))
        for stream in (consumer, group):
            with self.assertRaises(grpc.RpcError) as caught:
                while True:
                    stream.receive()
            gone = ("PERMISSION_DENIED", "ROLE_MISSING")
            self.assertEqual(self.ended(caught.exception), gone)
        series = 'evenpack_denied_calls_total{reason="ROLE_MISSING"}'
        self.assertEqual(self.server.metric(series), 2)
        self.feed(0, 16)
        self.assertTrue(operator.receive().HasField("step"))

    def test_a_stream_whose_token_is_gone_ends(self) -> None:
        self.start()
        bearer = [("authorization", f"Bearer {TOKEN}")]
        stub = self.connections.stub(Caller(), "Ingest")
        method: Any = functools.partial(stub, metadata=bearer, timeout=DEADLINE)
        messages: local_client.Conversation[api.IngestRequest, api.IngestResponse]
        messages = local_client.Conversation(method, local_client.opening(JOB, "web"))
        self.enterContext(messages)
        messages.receive()
        self.write_roles(OPERATOR)
        with self.assertRaises(grpc.RpcError) as caught:
            messages.receive()
        gone = ("UNAUTHENTICATED", "TOKEN_UNKNOWN")
        self.assertEqual(self.ended(caught.exception), gone)

    def test_a_file_that_cannot_be_used_keeps_the_roles(self) -> None:
        self.start()
        steps = self.open_steps("consumer")
        self.replace(self.roles, "grants: [{role: root}]\n")
        self.await_log("roles kept")
        self.roles.unlink()
        self.await_log("roles kept", 2)
        self.feed(0, 16)
        self.assertTrue(steps.receive().HasField("step"))
        self.write_roles(OPERATOR)
        self.await_log("roles changed")
        with self.assertRaises(grpc.RpcError):
            steps.rest()


class ChangedCertificatesTest(SecuredTest):
    def connects(self, host: str) -> bool:
        """Whether a new connection finds that host's certificate."""
        roots = self.certificates.pem("ca").read_bytes()
        options = [
            ("grpc.ssl_target_name_override", host),
            ("grpc.use_local_subchannel_pool", 1),
        ]
        credentials = grpc.ssl_channel_credentials(roots)
        with grpc.secure_channel(
            self.server.grpc_address, credentials, options
        ) as channel:
            with self.assertRaises(grpc.RpcError) as caught:
                rpc.PackingServiceStub(channel).ListJobs(
                    api.ListJobsRequest(), timeout=DEADLINE
                )
            return error_of(caught.exception).code == "UNAUTHENTICATED"

    def use(self, name: str, kind: str) -> None:
        """The server's certificate or key becomes another's."""
        source = self.folder / f"{name}.{kind}"
        self.replace(self.folder / f"live.{kind}", source.read_text())

    def test_new_connections_use_the_new_pair_and_streams_go_on(self) -> None:
        self.start()
        steps = self.open_steps("consumer")
        self.feed(0, 8)
        self.assertTrue(self.connects("localhost"))
        self.use("named", "pem")
        self.await_log("certificate kept")
        self.assertTrue(self.connects("localhost"))
        self.assertFalse(self.connects("packer.example"))
        self.use("named", "key")
        self.await_log("certificate changed")
        wait_until(lambda: self.connects("packer.example"), "the new certificate")
        self.assertFalse(self.connects("localhost"))
        self.feed(8, 8)
        self.assertTrue(steps.receive().HasField("step"))

    def client(self, version: ssl.TLSVersion) -> ssl.SSLContext:
        """That of a client which offers that version alone."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self.certificates.pem("ca"))
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.set_alpn_protocols(["h2"])
        context.minimum_version = context.maximum_version = version
        return context

    @contextlib.contextmanager
    def secured(
        self, context: ssl.SSLContext, session: ssl.SSLSession | None = None
    ) -> Iterator[ssl.SSLSocket]:
        """A connection of such a client, which would go on with that session."""
        host, _, port = self.server.grpc_address.rpartition(":")
        with (
            socket.create_connection((host, int(port)), timeout=DEADLINE) as plain,
            context.wrap_socket(
                plain, server_hostname="localhost", session=session
            ) as secured,
        ):
            yield secured

    def handshake(self, version: ssl.TLSVersion) -> str | None:
        """The version that it gets."""
        with self.secured(self.client(version)) as secured:
            return secured.version()

    def test_tls_is_1_2_or_later(self) -> None:
        self.start()
        self.assertEqual(self.handshake(ssl.TLSVersion.TLSv1_2), "TLSv1.2")
        self.assertEqual(self.handshake(ssl.TLSVersion.TLSv1_3), "TLSv1.3")
        with self.assertRaises(ssl.SSLError):
            self.handshake(ssl.TLSVersion.TLSv1_1)

    def resumes(self, version: ssl.TLSVersion) -> bool:
        """Whether a session of one connection is another's, without its certificate."""
        context = self.client(version)
        session: ssl.SSLSession | None = None
        for _ in range(2):
            with self.secured(context, session) as secured:
                # Settings, before which come the tickets that there are.
                self.assertTrue(secured.recv(9))
                session = secured.session
                resumed = bool(secured.session_reused)
        return resumed

    def test_each_connection_shows_its_certificate_anew(self) -> None:
        self.start()
        self.assertFalse(self.resumes(ssl.TLSVersion.TLSv1_2))
        self.assertFalse(self.resumes(ssl.TLSVersion.TLSv1_3))


class ReflectionTest(SecuredTest):
    def test_it_is_there_where_only_clients_with_certificates_are(self) -> None:
        for clients, there in (("require", True), ("request", False)):
            with self.subTest(clients):
                self.start(clients=clients)
                channel = self.connections.open("operator")
                if there:
                    self.assertIn(SERVICE, reflection_client.services(channel))
                    continue
                with self.assertRaises(grpc.RpcError) as caught:
                    reflection_client.services(channel)
                self.assertEqual(error_of(caught.exception).code, "UNIMPLEMENTED")


class HttpTest(SecuredTest):
    def get(self, path: str, token: str | None = None) -> tuple[int, str]:
        """Status and text."""
        request = urllib.request.Request(f"http://{self.server.http_address}{path}")
        if token is not None:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def test_jobs_are_for_who_has_a_token_with_a_role(self) -> None:
        self.start(grants=OPERATOR + grant("consumer", token=TOKEN, jobs=JOB))
        for path in ("/", "/metrics", "/healthz", "/readyz", "/pages"):
            self.assertEqual(self.get(path)[0], 200)
        for token in (None, "wrong"):
            status, text = self.get("/api/v1/jobs", token)
            self.assertEqual(status, 401)
            reason = "TOKEN_UNKNOWN" if token else "NO_IDENTITY"
            self.assertIn(reason, text)
        status, text = self.get("/api/v1/jobs", TOKEN)
        self.assertEqual((status, JOB in text), (200, True))
        self.assertEqual(self.get(f"/api/v1/jobs/{JOB}", TOKEN)[0], 200)
        status, text = self.get("/api/v1/jobs/other", TOKEN)
        self.assertEqual((status, "ROLE_MISSING" in text), (403, True))


class RefusedStartTest(unittest.TestCase):
    def test_flags_and_files_are_named(self) -> None:
        folder = temporary_folder(self.enterContext)
        made = CallerCertificates(folder)
        pair = ["--tls-certificate", f"{made.pem('server')}", "--tls-key"]
        other = f"{made.key('named')}"
        roles = folder / "roles.yaml"
        roles.write_text("grants:\n  - {role: root, jobs: ['*'], subjects: ['CN=a']}\n")
        for flags, says in (
            (["--listen", "0.0.0.0:0"], "listen: '0.0.0.0:0' is reached by others"),
            (pair[:2], "tls-key: none; accepted: --tls-certificate and --tls-key"),
            ([*pair, f"{folder}/none"], f"tls-key: '{folder}/none' can't be read"),
            ([*pair, other], f"tls-key: '{other}': it is not the key of"),
            (["--roles", f"{roles}"], "roles: line 2: grants[0].role: 'root' is not"),
            (["--tls-client-certificates", "no"], "--tls-client-certificates"),
        ):
            with self.subTest(flags=flags):
                finished = subprocess.run(
                    [PROGRAM, "--http-listen", "", *flags],
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=DEADLINE,
                )
                self.assertEqual(finished.returncode, BAD_INPUT, finished.stderr)
                self.assertIn(says, finished.stderr)


class SecretsTest(SecuredTest):
    def test_no_token_and_no_key_is_in_a_log(self) -> None:
        self.start()
        self.feed(0, 16)
        wrong = "a-token-that-is-wrong"
        for caller in (Caller(None, wrong), Caller("consumer", TOKEN)):
            with self.assertRaises(grpc.RpcError):
                self.connections.call(
                    caller, "DeleteJob", api.DeleteJobRequest(name=JOB)
                )
        self.replace(
            self.roles, f"grants:\n  - {{role: consumer, tokens: [{TOKEN}]}}\n"
        )
        self.await_log("roles kept")
        self.server.terminate()
        key = self.certificates.key("live").read_text().splitlines()[1]
        said = self.server.stderr()
        self.assertIn("call denied", said)
        for secret in (TOKEN, hash_of(TOKEN), wrong, hash_of(wrong), key):
            self.assertNotIn(secret, said)

    def await_line_about(self, server: ChildProcess, what: str) -> None:
        """Until its log has that text."""
        wait_until(lambda: what in server.stderr(), what)

    def test_no_password_of_a_database_is_in_a_log(self) -> None:
        password = "the-password-of-the-database"
        where = f"host=127.0.0.1 port=1 user=u password={password}"
        flags = ["--listen", ANY_PORT, "--http-listen", "", "--log-level", "debug"]
        for target in (
            f"postgresql:{where}",
            f"postgresql://u:{password}@127.0.0.1:1/d",
        ):
            with ChildProcess([PROGRAM, *flags, "--store", target]) as server:
                self.await_line_about(server, "127.0.0.1")
                self.assertNotIn(password, server.stderr())


class DocumentedCertificatesTest(unittest.TestCase):
    def block(self, kind: str) -> str:
        """The commands of docs/security.md that are marked so."""
        text = (SOURCE / "docs/security.md").read_text(encoding="utf-8")
        found = re.search(rf"```{kind}\n(.*?)```", text, re.DOTALL)
        assert found is not None
        return found[1]

    def test_the_documented_commands_make_a_server_that_knows_its_operator(
        self,
    ) -> None:
        folder = temporary_folder(self.enterContext)
        made = subprocess.run(
            ["bash", "-euc", self.block("sh openssl")],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(made.returncode, 0, made.stderr)
        (folder / "roles.yaml").write_text(self.block("yaml"))
        flags = self.block("sh server").replace("\\\n", " ").split()[1:]
        for name in ("server.pem", "server.key", "ca.pem", "roles.yaml"):
            flags[flags.index(name)] = f"{folder}/{name}"
        listen = flags.index("--listen")
        del flags[listen : listen + 2]
        server = self.enterContext(ServerProcess(*flags, listen="0.0.0.0:0"))
        credentials = grpc.ssl_channel_credentials(
            (folder / "ca.pem").read_bytes(),
            (folder / "ops.key").read_bytes(),
            (folder / "ops.pem").read_bytes(),
        )
        port = server.grpc_address.rpartition(":")[2]
        with grpc.secure_channel(f"localhost:{port}", credentials) as channel:
            jobs = rpc.PackingServiceStub(channel).ListJobs(
                api.ListJobsRequest(), timeout=DEADLINE
            )
            self.assertEqual(list(jobs.jobs), [])


if __name__ == "__main__":
    unittest.main()
