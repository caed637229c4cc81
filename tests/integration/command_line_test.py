"""evenpack-server as a program: its flags, its file, its exit status, its log."""

from __future__ import annotations

import json
import resource
import subprocess
import tempfile
import unittest
from pathlib import Path

import grpc
import job_specs
import local_client
from call_error import error_of
from child_process import DEADLINE
from evenpack.v1 import packing_service_pb2 as api
from listening_process import ANY_PORT
from server_process import PROGRAM, ServerProcess

BAD_INPUT = 2
FAILED = 1
FLAGS = """
    --help --version --listen --advertise --http-listen --health-listen --channelz
    --store --tls-certificate --tls-key --tls-client-ca --tls-client-certificates
    --roles --insecure
    --payload-root
    --log-level --log-format --config --max-jobs --max-step-streams
    --max-ingest-streams --max-group-streams --max-message-bytes --step-cache-bytes
    --max-peer-calls --max-peer-ingest-streams --max-peer-step-streams
    --max-peer-group-streams --max-peer-jobs --max-job-ingest-streams
    --max-job-step-streams --max-job-group-streams --max-metadata-bytes
    --max-connection-streams --max-transport-bytes --max-unclaimed-bytes
    --max-metric-jobs --wake-threads --keepalive-seconds --keepalive-timeout-seconds
    --min-ping-seconds --max-connection-age-seconds --connection-age-grace-seconds
    --drain-seconds --store-wait-seconds
""".split()


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A run that ends by itself."""
    return subprocess.run(
        [PROGRAM, *arguments], capture_output=True, text=True, check=False, timeout=30
    )


class CommandLineTest(unittest.TestCase):
    def write_config(self, text: str) -> str:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        path = Path(folder, "server.yaml")
        path.write_text(text, encoding="utf-8")
        return str(path)

    def refused(self, *arguments: str, status: int = BAD_INPUT) -> str:
        finished = run(*arguments)
        self.assertEqual(finished.returncode, status, (arguments, finished.stderr))
        self.assertEqual(finished.stdout, "", arguments)
        return finished.stderr

    def refused_in_one_line(self, *arguments: str, status: int = BAD_INPUT) -> str:
        said = self.refused(*arguments, status=status)
        self.assertRegex(said, r"\Aevenpack-server: [^\n\0]+\n\Z", arguments)
        return said

    def test_help_names_every_flag(self) -> None:
        finished = run("--help")
        self.assertEqual((finished.returncode, finished.stderr), (0, ""))
        words = finished.stdout.replace(",", " ").split()
        self.assertEqual({word for word in words if word.startswith("--")}, set(FLAGS))
        for line in finished.stdout.splitlines():
            self.assertTrue(line.isprintable(), line)

    def test_version(self) -> None:
        finished = run("--version")
        self.assertEqual(finished.returncode, 0)
        self.assertRegex(finished.stdout, r"\Aevenpack-server \d+\.\d+\.\d+\n\Z")

    def test_bad_flags(self) -> None:
        for arguments, says in (
            (["--bogus"], ["--bogus"]),
            (["serve"], ["serve"]),
            (["--max-jobs", "0"], ["--max-jobs", "0", "1 to 1000000"]),
            (["--max-jobs", "many"], ["--max-jobs", "many"]),
            (["--drain-seconds", "-1"], ["--drain-seconds", "-1"]),
            (["--store", "disk"], ["--store", "disk", "memory"]),
            (["--channelz", "yes"], ["--channelz", "yes", "auto", "on", "off"]),
            (["--log-level", "loud"], ["--log-level", "loud", "debug", "warning"]),
            (["--log-format", "xml"], ["--log-format", "xml", "json", "text"]),
            (["--listen", "nowhere"], ["listen: 'nowhere'", "HOST:PORT"]),
            (["--listen", "127.0.0.1:65536"], ["listen: '127.0.0.1:65536'", "65535"]),
            (
                ["--listen", ANY_PORT, "--http-listen", "x"],
                ["http-listen: 'x'", "HOST:PORT"],
            ),
            (
                ["--listen", ANY_PORT, "--http-listen=", "--health-listen", "x"],
                ["health-listen: 'x'", "HOST:PORT"],
            ),
            (["--config", "/no/such/file"], ["config: '/no/such/file'"]),
        ):
            said = self.refused_in_one_line(*arguments)
            for part in says:
                self.assertIn(part, said)

    def test_bad_files(self) -> None:
        for text, says in (
            ("max-jobs: 0\n", ["config: ", "--max-jobs", "1 to 1000000"]),
            ("log-level: info\nbogus: 1\n", ["config: line 2: 'bogus'"]),
            ("max-jobs: 1\nmax-jobs: 2\n", ["config: line 2: 'max-jobs'", "twice"]),
            ("- a\n", ["config: line 1", "flag: value"]),
            ("max-jobs: [1]\n", ["config: line 1", "flag: value"]),
            ("config: other.yaml\n", ["config: line 1: 'config'"]),
            ("a: 'b\n", ["config: line "]),
        ):
            said = self.refused_in_one_line("--config", self.write_config(text))
            for part in says:
                self.assertIn(part, said)

    def test_a_database_that_is_not_there(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        store = f"postgresql:host={folder} dbname=evenpack"
        # The library of PostgreSQL says it in two lines.
        said = self.refused_in_one_line(
            *("--listen", ANY_PORT, "--http-listen", ANY_PORT, "--store", store),
            status=FAILED,
        )
        self.assertIn("store: the database can't be reached: ", said)
        self.assertIn(f"{folder}/.s.PGSQL.5432", said)

    def test_a_flag_goes_before_the_file(self) -> None:
        path = self.write_config("# A comment.\nmax-jobs: 1\nlog-format: json\n")
        for flags, jobs in (([], 1), (["--max-jobs", "2"], 2)):
            with ServerProcess("--config", path, *flags) as server:
                for number in range(jobs):
                    local_client.create(server, f"{number}", job_specs.small_spec())
                with self.assertRaises(grpc.RpcError) as caught:
                    local_client.create(server, "more", job_specs.small_spec())
                error = error_of(caught.exception)
                self.assertEqual(error.metadata, {"limit": f"{jobs}"})
                json.loads(server.stderr().splitlines()[0])

    def test_a_second_server_does_not_share_the_port(self) -> None:
        with ServerProcess() as server:
            for arguments, says in (
                (
                    ["--listen", server.grpc_address, "--http-listen", ANY_PORT],
                    f"evenpack-server: listen: can't listen on {server.grpc_address}",
                ),
                (
                    ["--listen", ANY_PORT, "--http-listen", server.http_address],
                    "evenpack-server: http-listen: can't listen on "
                    f"{server.http_address}: Address already in use",
                ),
            ):
                said = self.refused(*arguments, status=FAILED)
                self.assertTrue(said.splitlines()[-1].startswith(says), said)
            # The first one is not disturbed.
            self.assertEqual(server.get("/readyz")[0], 200)
            local_client.create(server, "job", job_specs.small_spec())

    def test_a_limit_that_leaves_no_room_for_its_threads_is_named(self) -> None:
        if b"__asan_init" in Path(PROGRAM).read_bytes():
            self.skipTest("a sanitizer's memory is beyond any limit")
        # With less the library of the allocator might not be loaded.
        limit = 200 << 20

        def lower() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        ended = subprocess.run(
            [PROGRAM, "--listen", ANY_PORT, "--http-listen", ANY_PORT],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
            preexec_fn=lower,
        )
        self.assertEqual((ended.returncode, ended.stdout), (FAILED, ""))
        self.assertRegex(
            ended.stderr,
            r"\Aevenpack-server: threads: \d+ of \d+ could be made: Resource "
            r"temporarily unavailable; accepted: limits of [^\n]+\n\Z",
        )

    def test_without_an_http_port(self) -> None:
        path = self.write_config("http-listen: ''\n")
        for flags, http_listen in (([], ""), (["--config", path], None)):
            with ServerProcess(*flags, http_listen=http_listen) as server:
                local_client.create(server, "job", job_specs.small_spec())
                self.assertEqual(server.terminate(), 0)
                self.assertIsNone(server.next_line())

    def test_drains_though_whoever_reads_its_log_has_gone(self) -> None:
        # Without HTTP, whose library sees to that by itself.
        with subprocess.Popen(
            [PROGRAM, "--listen", ANY_PORT, "--http-listen", ""],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None and process.stderr is not None
            self.assertIn("grpc listening on", process.stdout.readline())
            process.stderr.close()
            process.terminate()
            self.assertEqual(process.wait(DEADLINE), 0)

    def test_what_can_not_be_written_is_an_error(self) -> None:
        with Path("/dev/full").open("w") as full:
            ended = subprocess.run(
                [PROGRAM, "--version"], stdout=full, stderr=subprocess.PIPE, text=True
            )
        self.assertEqual(
            (ended.returncode, ended.stderr),
            (FAILED, "evenpack-server: standard output: No space left on device\n"),
        )


class LogTest(unittest.TestCase):
    def log_of(self, *flags: str) -> list[str]:
        """The lines of a server that served, met an error and stopped."""
        with ServerProcess(*flags) as server:
            local_client.create(server, "job", job_specs.small_spec())
            # What the library that parses messages complains of.
            call: grpc.UnaryUnaryMultiCallable[bytes, bytes]
            call = server.channel.unary_unary("/evenpack.v1.PackingService/GetJob")
            with self.assertRaises(grpc.RpcError):
                call(bytes([0x0A, 2, 0xFF, 0xFF]))
            server.stub.DeleteJob(api.DeleteJobRequest(name="job"))
            self.assertEqual(server.terminate(), 0)
            return server.stderr().splitlines()

    def test_json_lines(self) -> None:
        lines = self.log_of("--log-format", "json", "--log-level", "debug")
        events = []
        for line in lines:
            logged = json.loads(line)
            self.assertLessEqual({"time", "level", "event"}, logged.keys())
            self.assertRegex(
                logged["time"], r"\A\d{4}-\d\d-\d\dT[\d:.]{12}[+-]\d\d:\d\d"
            )
            self.assertIn(logged["level"], ("debug", "info", "warning", "error"))
            events.append(logged["event"])
        self.assertEqual(events[0], "serving")
        self.assertEqual(events[-2:], ["draining", "stopped"])
        self.assertIn("protobuf", events)

    def test_text_lines(self) -> None:
        lines = self.log_of()
        for line in lines:
            self.assertRegex(line, r"\A\d{4}-\d\d-\d\dT\S+ (info|warning|error) \w+")

    def test_levels(self) -> None:
        for level, events in (("warning", 1), ("error", 1), ("info", 4)):
            self.assertEqual(len(self.log_of("--log-level", level)), events, level)


if __name__ == "__main__":
    unittest.main()
