"""The programs that are clients, over TLS and with tokens, to a scripted server."""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
import time
import unittest
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path

import grpc
from agent_process import AgentProcess
from certificates import Certificates
from child_process import ChildProcess, wait_until
from evenpack.v1 import packing_service_pb2 as api

CONTROL = os.environ["EVENPACKCTL"]
WORKER = os.environ["EVENPACK_WORKER_PROGRAM"]
BAD_INPUT, REFUSED, UNAVAILABLE = 2, 3, 4
TOKEN = "a-token-that-nobody-else-has"


class _Scripted(grpc.GenericRpcHandler):
    """Has no jobs, takes any profile, refuses subscriptions.

    Notes who called what: the method, the certificate's common name, authorizations.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, list[str]]] = []

    def service(
        self, details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[bytes, bytes]:
        """Whatever the method."""
        method = details.method.rpartition("/")[-1]

        def note(context: grpc.ServicerContext) -> None:
            name = context.auth_context().get("x509_common_name", [b""])[0]
            authorizations = [
                str(value)
                for key, value in context.invocation_metadata()
                if key == "authorization"
            ]
            assert isinstance(name, bytes)
            self.calls.append((method, name.decode(), authorizations))

        def answer(_: bytes, context: grpc.ServicerContext) -> bytes:
            note(context)
            return b""

        def refuse(_: object, context: grpc.ServicerContext) -> Iterator[bytes]:
            note(context)
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "not a consumer")

        if method == "StreamSteps":
            return grpc.stream_stream_rpc_method_handler(refuse)
        return grpc.unary_unary_rpc_method_handler(answer)


class ClientSecurityTest(unittest.TestCase):
    """A server that wants a certificate of each client, and one that wants none."""

    certificates: Certificates

    @classmethod
    def setUpClass(cls) -> None:
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.certificates = Certificates(Path(folder))

    def setUp(self) -> None:
        self.scripted = _Scripted()
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.token = self.folder / "token"
        self.token.write_text(TOKEN + "\n")
        pem, key = self.certificates.pem, self.certificates.key
        self.secured = self.serve(
            grpc.ssl_server_credentials(
                [(key("server").read_bytes(), pem("server").read_bytes())],
                pem("ca").read_bytes(),
                True,
            )
        )
        self.flags = [
            *("--tls-ca", str(pem("ca"))),
            *("--tls-certificate", str(pem("client"))),
            *("--tls-key", str(key("client"))),
            *("--token-file", str(self.token)),
        ]

    def serve(self, credentials: grpc.ServerCredentials | None) -> str:
        """Its address."""
        server = grpc.server(futures.ThreadPoolExecutor(4))
        server.add_generic_rpc_handlers((self.scripted,))
        port = (
            server.add_insecure_port("127.0.0.1:0")
            if credentials is None
            else server.add_secure_port("127.0.0.1:0", credentials)
        )
        server.start()
        self.addCleanup(lambda: server.stop(None).wait())
        return f"127.0.0.1:{port}"

    def run_program(
        self, *arguments: str, variables: dict[str, str] | None = None
    ) -> tuple[int, str]:
        """Its exit status and what it wrote, which has no token in it."""
        done = subprocess.run(
            arguments,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={**os.environ, **(variables or {})},
        )
        output = done.stdout + done.stderr
        self.assertNotIn(TOKEN, output)
        return done.returncode, output

    def list_jobs(
        self, server: str, *flags: str, variables: dict[str, str] | None = None
    ) -> tuple[int, str]:
        """Of `evenpackctl jobs list`."""
        return self.run_program(
            CONTROL, "jobs", "list", "--server", server, *flags, variables=variables
        )

    def test_evenpackctl_says_who_it_is(self) -> None:
        """By flags, and by the environment."""
        expected = ("ListJobs", "client", [f"Bearer {TOKEN}"])
        status, output = self.list_jobs(self.secured, *self.flags)
        self.assertEqual(status, 0, output)
        names = ("TLS_CA", "TLS_CERTIFICATE", "TLS_KEY", "TOKEN_FILE")
        files = self.flags[1::2]
        variables = {f"EVENPACK_{n}": f for n, f in zip(names, files, strict=True)}
        status, output = self.list_jobs(self.secured, variables=variables)
        self.assertEqual(status, 0, output)
        self.assertEqual(self.scripted.calls, [expected, expected])

    def test_evenpackctl_says_why_there_is_no_connection(self) -> None:
        """At once, where another attempt would end in the same way."""
        other = str(self.certificates.pem("other_ca"))
        begun = time.monotonic()
        status, output = self.list_jobs(self.secured, *self.flags, "--tls-ca", other)
        self.assertEqual(status, BAD_INPUT, output)
        self.assertIn("--tls-ca: given 2 times", output)
        status, output = self.list_jobs(self.secured, "--tls-ca", other)
        self.assertEqual(status, REFUSED, output)
        self.assertIn("signed by none of the authorities", output)
        self.assertLess(time.monotonic() - begun, 20)
        for flags in ([], self.flags[:2]):
            status, output = self.list_jobs(self.secured, "--timeout", "2", *flags)
            self.assertEqual(status, UNAVAILABLE, output)
            self.assertIn("it may want TLS, a client certificate", output)

    def test_docs_troubleshooting_has_what_it_says(self) -> None:
        """Of each kind of refusal."""
        text = Path(os.environ["EVENPACK_SOURCE_DIR"], "docs/troubleshooting.md")
        page = " ".join(text.read_text(encoding="utf-8").split())
        pem, key = self.certificates.pem, self.certificates.key
        servers = {self.serve(None), self.secured}
        for name in ("expired", "named"):
            pair = (key(name).read_bytes(), pem(name).read_bytes())
            servers.add(self.serve(grpc.ssl_server_credentials([pair])))
        ca = ("--tls-ca", str(pem("ca")), "--timeout", "2")
        mixed = ("--tls-certificate", str(pem("client")), "--tls-key", str(key("ca")))
        calls: list[tuple[str, tuple[str, ...]]] = [(server, ca) for server in servers]
        calls.append((self.secured, (*ca, *mixed)))
        said = set()
        for server, flags in calls:
            _, output = self.list_jobs(server, *flags)
            self.assertEqual(len(output.splitlines()), 1, output)
            cause = output.strip().rpartition("; ")[-1].partition(" (gave up")[0]
            self.assertTrue(f"`{cause}`" in page, output)
            said.add(cause)
        self.assertEqual(len(said), len(calls))

    def test_a_token_is_not_sent_in_the_clear_beyond_this_machine(self) -> None:
        """Which shows before anything is sent."""
        plain = self.serve(None)
        flags = ("--token-file", str(self.token))
        status, output = self.list_jobs(plain, *flags)
        self.assertEqual(status, 0, output)
        self.assertEqual(self.scripted.calls, [("ListJobs", "", [f"Bearer {TOKEN}"])])
        status, output = self.list_jobs("packer.example:7654", *flags)
        self.assertEqual(status, BAD_INPUT, output)
        self.assertRegex(output, r"^evenpackctl: --token-file: '\S+' is not accepted")

    def test_a_profile_is_uploaded_by_who_may(self) -> None:
        """A worker's own measurement."""
        status, output = self.run_program(
            *(WORKER, "--profile", "--longest", "256", "--repetitions", "1"),
            *("--query-heads", "1", "--kv-heads", "1", "--head-size", "64"),
            *("--most-exchange-bytes", "4096", "--name", "node"),
            *("--upload", self.secured, *self.flags),
        )
        self.assertEqual(status, 0, output)
        expected = ("PutCostProfile", "client", [f"Bearer {TOKEN}"])
        self.assertEqual(self.scripted.calls, [expected])

    def test_an_agent_speaks_for_its_clients_and_says_itself_who_it_is(self) -> None:
        """Whatever they say; and with the token of the moment."""
        agent = self.enterContext(AgentProcess(self.secured, *self.flags))
        metadata = (("authorization", "Bearer another"), ("x-other", "kept"))
        agent.stub.ListJobs(api.ListJobsRequest(), metadata=metadata)
        self.token.write_text("renewed\n")
        subscribe = api.StreamStepsRequest(subscribe=api.Subscribe(job="run"))
        call = agent.stub.StreamSteps(iter([subscribe]), metadata=metadata)
        with self.assertRaises(grpc.RpcError):
            next(call)
        self.assertEqual(call.code(), grpc.StatusCode.PERMISSION_DENIED)
        self.assertEqual(call.details(), "not a consumer")
        self.assertEqual(
            self.scripted.calls,
            [
                ("ListJobs", "client", [f"Bearer {TOKEN}"]),
                ("StreamSteps", "client", ["Bearer renewed"]),
            ],
        )
        self.assertNotIn(TOKEN, agent.stderr())

    def test_an_agents_socket_is_for_its_user_and_group(self) -> None:
        """Unless it is told that it is for all."""
        for flags, mode in (([], 0o660), (["--insecure"], 0o666)):
            path = self.folder / "agent.sock"
            listen = f"unix:{path}"
            with AgentProcess(self.secured, *self.flags, *flags, listen=listen):
                self.assertEqual(stat.S_IMODE(path.stat().st_mode), mode)
                status, output = self.list_jobs(listen)
                self.assertEqual(status, 0, output)

    def test_a_sidecar_takes_the_same_flags(self) -> None:
        """It connects when a trainer attaches."""
        command = [WORKER, "--serve", "--server", self.secured, *self.flags]
        folder = ["--socket-folder", str(self.folder)]
        worker = self.enterContext(ChildProcess([*command, *folder]))
        self.assertEqual(worker.next_line(), f"serving at {self.folder}")
        status, output = self.run_program(*command, *folder, "--tls-key", "/none")
        self.assertEqual(status, BAD_INPUT, output)

    def test_a_certificate_that_is_renewed_needs_no_restart(self) -> None:
        """Of an agent, which runs for as long as its node."""
        files = [Path(file) for file in self.flags[3:6:2]]
        own = [self.folder / file.name for file in files]
        for name in ("pem", "key"):
            made = self.folder / f"client.{name}"
            made.write_bytes((files[0].parent / f"stranger.{name}").read_bytes())
        flags = ["--tls-certificate", str(own[0]), "--tls-key", str(own[1])]
        agent = self.enterContext(AgentProcess(self.secured, *self.flags[:2], *flags))
        with self.assertRaises(grpc.RpcError):
            agent.stub.ListJobs(api.ListJobsRequest())
        for file, target in zip(files, own, strict=True):
            new = self.folder / "new"
            new.write_bytes(file.read_bytes())
            new.rename(target)

        def answered() -> bool:
            try:
                agent.stub.ListJobs(api.ListJobsRequest())
            except grpc.RpcError:
                return False
            return True

        wait_until(answered, "an answer")
        self.assertEqual(self.scripted.calls[-1], ("ListJobs", "client", []))


if __name__ == "__main__":
    unittest.main()
