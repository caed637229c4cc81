"""docs/troubleshooting.md has the messages that the programs print."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import subprocess
import tempfile
import unittest
from pathlib import Path

from child_process import ChildProcess, wait_until
from listening_process import ANY_PORT
from server_process import PROGRAM, ServerProcess

SOURCE = Path(os.environ["EVENPACK_SOURCE_DIR"])
EVENPACKCTL = os.environ["EVENPACKCTL"]
WORKER = os.environ["EVENPACK_WORKER_PROGRAM"]
PAGE = " ".join(
    (SOURCE / "docs/troubleshooting.md").read_text(encoding="utf-8").split()
)
DAMAGED = 3
# By evenpackctl's flags, or by the server.
REFUSED = (2, 3)
# Of a stream that holds a few of the documents below, and one that holds all.
NARROW, WIDE = ("--max-buffered-tokens", "4000"), ("--max-buffered-tokens", "100000")


class TroubleshootingTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.store = f"sqlite:{self.folder / 'store'}"
        self.server = self.enterContext(ServerProcess("--store", self.store))
        self.lengths = self.write("lengths", "500\n" * 50)

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def control(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        server = {"EVENPACK_SERVER": self.server.grpc_address}
        return subprocess.run(
            [EVENPACKCTL, *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, **server},
        )

    def done(self, *arguments: str) -> str:
        """What a command prints that succeeds."""
        ended = self.control(*arguments)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout

    def assert_on_page(self, message: str) -> None:
        words = " ".join(message.split())
        self.assertTrue(words)
        self.assertIn(words, PAGE)

    def refused(self, *arguments: str) -> None:
        """A command whose refusal stands on the page."""
        with self.subTest(arguments=arguments):
            ended = self.control(*arguments)
            self.assertIn(ended.returncode, REFUSED, ended.stdout)
            self.assert_on_page(ended.stderr.removeprefix("evenpackctl: "))

    def ingest(self, lengths: str, *more: str, stream: str = "web") -> list[str]:
        at = ["--job", "run-7", "--stream", stream]
        return ["ingest", *at, "--lengths", lengths, *more]

    def create(self, *flags: str) -> None:
        shape = ["--window", "1000", "--streams", "web,code"]
        self.done("jobs", "create", "run-7", *shape, *flags)

    def test_a_server_that_does_not_start(self) -> None:
        other = self.write("other", "no database" * 1000)
        grpc, http = self.server.grpc_address, self.server.http_address
        none = ["--http-listen", ""]
        cases = [
            ["--listen", grpc, *none],
            ["--listen", ANY_PORT, "--http-listen", http],
            ["--listen", ANY_PORT, *none, "--store", self.store],
            ["--listen", ANY_PORT, *none, "--store", "sqlite:/nowhere/store"],
            ["--listen", ANY_PORT, *none, "--store", f"sqlite:{self.folder}"],
            ["--listen", ANY_PORT, *none, "--store", f"sqlite:{other}"],
        ]
        for flags in cases:
            with self.subTest(flags=flags):
                ended = subprocess.run(
                    [PROGRAM, *flags], capture_output=True, text=True, timeout=60
                )
                self.assertNotEqual(ended.returncode, 0)
                said = ended.stderr.splitlines()[-1]
                said = said.removeprefix("evenpack-server: ")
                said = said.replace(grpc, "127.0.0.1:7654")
                said = said.replace(http, "127.0.0.1:7655")
                said = said.replace(str(self.folder), "/nowhere")
                self.assert_on_page(said.replace("/nowhere", "/var/lib/evenpack"))

    def test_a_server_that_is_away(self) -> None:
        ended = self.control(
            *["jobs", "list", "--timeout", "1"], "--server=127.0.0.1:1"
        )
        self.assertEqual(ended.returncode, 4)
        said = re.sub(r"after \d+ attempts", "after 6 attempts", ended.stderr)
        self.assert_on_page(said.removeprefix("evenpackctl: "))

    def test_a_port_that_has_no_such_call(self) -> None:
        flags = ("--health-listen", ANY_PORT)
        with ServerProcess(*flags) as server:
            line = server.next_line() or ""
            address = line.removeprefix("health listening on ")
            self.refused("jobs", "list", "--server", address)

    def test_a_producer_that_is_refused(self) -> None:
        self.create(*WIDE)
        self.refused(*self.ingest(self.write("long", "5000\n")))
        self.refused(*self.ingest(self.lengths, "--from-sequence", "100"))
        self.refused(*self.ingest(self.lengths, stream="nope"))
        self.done(*self.ingest(self.lengths))
        self.refused(*self.ingest(self.write("others", "400\n" * 50)))
        self.done(*self.ingest(self.lengths, "--end-of-stream"))
        self.refused(*self.ingest(self.lengths, "--from-sequence", "50"))

    def test_a_stream_that_is_full_and_one_that_is_empty(self) -> None:
        self.create(*NARROW)
        self.done(*self.ingest(self.lengths))
        full = 'evenpack_job_stream_full{job="run-7",stream="web"}'
        self.assertEqual(self.server.metric(full), 1)
        self.assertIn("`evenpack_job_stream_full", PAGE.replace("grep ", "`"))
        described = self.done("jobs", "describe", "run-7")
        self.assertIn("steps      0 decided", described)
        # As the page says to end the empty one.
        end = ["--end-of-stream", "--from-sequence", "0"]
        self.done(*self.ingest("/dev/null", *end, stream="code"))
        self.assertIn("steps      25 decided", self.done("jobs", "describe", "run-7"))

    def test_a_rank_that_is_refused(self) -> None:
        self.refused("follow", "--job", "run-7", "--dp-rank", "0")
        self.create("--dp", "2", *WIDE)
        self.refused("follow", "--job", "run-7", "--dp-rank", "7")
        for stream in ("web", "code"):
            self.done(*self.ingest(self.lengths, "--end-of-stream", stream=stream))
        for rank in ("0", "1"):
            durable = ["--ack", "durable"]
            self.done("follow", "--job", "run-7", "--dp-rank", rank, *durable)
        at = ["follow", "--job", "run-7", "--dp-rank", "0", "--from-step"]
        self.refused(*at, "0")
        self.refused(*at, "1000")
        self.assertIn(
            "job        run-7, drained", self.done("jobs", "describe", "run-7")
        )

    def follower(self) -> ChildProcess:
        """One that follows rank 0, and has subscribed."""
        command = [EVENPACKCTL, "follow", "--job", "run-7", "--dp-rank", "0"]
        command += ["--subscriber", "a", "--server", self.server.grpc_address]
        opened = self.server.metric("evenpack_step_streams_opened_total")
        started = self.enterContext(ChildProcess(command))
        wait_until(
            lambda: self.server.metric("evenpack_step_streams_opened_total") > opened,
            "it has subscribed",
        )
        return started

    def test_a_subscription_that_ends(self) -> None:
        self.create()
        older = self.follower()
        newer = self.follower()
        self.assertIn(older.wait(), REFUSED)
        self.assert_on_page(older.stderr().removeprefix("evenpackctl: "))
        self.done("jobs", "update", "run-7", "--dp", "2")
        self.assertIn(newer.wait(), REFUSED)
        self.assert_on_page(newer.stderr().removeprefix("evenpackctl: "))

    def test_a_damaged_job(self) -> None:
        self.done("jobs", "create", "att", "--window", "1000", "--streams", "web")
        lengths = ["--lengths", self.lengths]
        self.done("ingest", "--job", "att", "--stream", "web", *lengths)
        self.assertEqual(self.server.terminate(), 0)
        store = self.folder / "store"
        with contextlib.closing(sqlite3.connect(store)) as opened:
            last = opened.execute("SELECT max(place) FROM records").fetchone()[0]
            change = (
                "UPDATE records SET bytes = zeroblob(length(bytes)) WHERE place = ?"
            )
            opened.execute(change, (last,))
            opened.commit()
        verified = self.control("verify", str(store))
        self.assertEqual(verified.returncode, DAMAGED, verified.stdout)
        self.assertIn("att: DAMAGED: ", verified.stdout)
        self.assertIn("`att: DAMAGED: ...`", PAGE)
        self.server = self.enterContext(ServerProcess("--store", self.store))
        self.assertIn("att is broken: ", self.done("jobs", "list"))
        said = self.server.stderr().partition(" error ")[2].splitlines()[0]
        known, _, _ = said.partition("record ")
        self.assert_on_page(known)

    def test_a_worker_that_does_not_start(self) -> None:
        serve = [WORKER, "--serve", "--server", self.server.grpc_address]
        nowhere = [*serve, "--socket-folder", "/nowhere"]
        ended = subprocess.run(nowhere, capture_output=True, text=True, timeout=60)
        self.assertEqual(ended.returncode, 2)
        self.assert_on_page(ended.stderr.removeprefix("evenpack-worker: "))
        sockets = ["--socket-folder", str(self.folder)]
        first = self.enterContext(ChildProcess([*serve, *sockets]))
        self.assertIn("serving at", first.next_line() or "")
        ended = subprocess.run(
            [*serve, *sockets], capture_output=True, text=True, timeout=60
        )
        said = ended.stderr.removeprefix("evenpack-worker: ")
        self.assert_on_page(said.replace(str(self.folder), "w0"))


if __name__ == "__main__":
    unittest.main()
