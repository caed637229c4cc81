"""Clients behind nginx and haproxy, set up as docs/proxies.md has them."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

from child_process import ChildProcess, wait_until
from free_ports import free_ports
from server_process import ServerProcess

PROGRAM = os.environ["EVENPACKCTL"]
PAGE = Path(os.environ["EVENPACK_SOURCE_DIR"], "docs", "proxies.md")
# With all of its defaults but how long a quiet call may last.
CUTS = {
    "nginx": ("location /", "grpc_read_timeout 1s; location /"),
    "haproxy": ("60s", "1s"),
}
BATCH = 400
# Exit status of evenpackctl.
UNAVAILABLE = 4


def program(name: str) -> str:
    """Where Debian has it, which may be on no path."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    assert found is not None, name
    return found


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Of HTTP/2 (RFC 9113, 4.1)."""
    length = len(payload).to_bytes(3, "big")
    return length + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


class PageOfErrors:
    """Answers each call with an HTTP status and a page, all at once, as proxies may."""

    def __init__(self, status: int) -> None:
        """Serves when it is made."""
        # ":status" by its name, "content-type" by its index (RFC 7541, 6.2.2).
        self._headers = b"\x08\x03%d\x0f\x10\x09text/html" % status
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,)).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as received:
            received.read(len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
            connection.sendall(frame(4, 0, 0))
            while len(head := received.read(9)) == 9:
                payload = received.read(int.from_bytes(head[:3], "big"))
                kind, flags = head[3], head[4]
                stream = int.from_bytes(head[5:], "big")
                answer = b""
                if kind in (4, 6) and not flags & 1:  # SETTINGS, PING
                    answer = frame(kind, 1, 0, payload if kind == 6 else b"")
                elif kind == 1:  # HEADERS
                    answer = frame(1, 4, stream, self._headers)
                    answer += frame(0, 1, stream, b"<html>not now</html>")
                try:
                    connection.sendall(answer)
                except OSError:
                    return


class ProxiesTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.server = self.enterContext(ServerProcess())

    def start(self, language: str, port: str, *, cuts: bool = True) -> str:
        """The proxy of the page's block, whose `port` is at the address returned."""
        text = PAGE.read_text(encoding="utf-8")
        (block,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
        block = block.replace("packer:7654", self.server.grpc_address)
        if cuts:
            block = block.replace(*CUTS[language])
        ports = sorted(set(re.findall(r"(?:listen |bind :)(\d+)", block)))
        given = dict(zip(ports, free_ports(len(ports)), strict=True))
        for was, now in given.items():
            block = re.sub(rf"(listen |bind :){was}", rf"\g<1>{now}", block)
        file = self.folder / f"{language}.conf"
        if language == "nginx":
            # One process, which is ended with the test.
            own = "daemon off; master_process off; error_log stderr;\n"
            own += f"pid {self.folder}/pid;\n"
            log = f"access_log off; client_body_temp_path {self.folder}/body;"
            for name in ("proxy", "fastcgi", "uwsgi", "scgi"):
                log += f"{name}_temp_path {self.folder}/{name};"
            block = own + block.replace("http {", f"http {{ {log}", 1)
            command = [program("nginx"), "-p", str(self.folder), "-c", str(file)]
        else:
            command = [program("haproxy"), "-db", "-f", str(file)]
        file.write_text(block, encoding="utf-8")
        self.proxy = self.enterContext(ChildProcess(command))
        address = f"127.0.0.1:{given[port]}"

        def listens() -> bool:
            self.assertTrue(self.proxy.runs(), self.proxy.stderr())
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", given[port])) == 0

        wait_until(listens, f"{language} at {address}")
        return address

    def run_program(self, *arguments: str, status: int = 0) -> str:
        """What it wrote to standard error."""
        finished = subprocess.run(
            [PROGRAM, *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        self.assertEqual(finished.returncode, status, finished.stderr)
        return finished.stderr

    def create(self, window: int = 4096) -> None:
        where = ["--server", self.server.grpc_address]
        shape = ["--dp", "1", "--micro-batches", "2", "--window", str(window)]
        self.run_program("jobs", "create", "run", *shape, *where)

    def ingest(self, address: str, count: int, *more: str) -> None:
        """The first of the documents, those that the stream has among them."""
        lengths = self.folder / "lengths.txt"
        lengths.write_text("".join(f"{i % 900 + 1}\n" for i in range(count)), "ascii")
        job = ["--job", "run", "--lengths", str(lengths), "--server", address]
        self.run_program("ingest", *job, *more)

    def follow(self, address: str, subscriber: str) -> ChildProcess:
        job = ["--job", "run", "--dp-rank", "0", "--subscriber", subscriber]
        return self.enterContext(
            ChildProcess([PROGRAM, "follow", *job, "--json", "--server", address])
        )

    def opened(self) -> float:
        return self.server.metric("evenpack_step_streams_opened_total")

    def check_cut_calls(self, language: str, port: str) -> None:
        """Of a quiet stream of steps, cut several times."""
        self.create()
        address = self.start(language, port)
        follower = self.follow(address, "behind")
        self.ingest(address, BATCH)
        cut = self.opened() + 3
        wait_until(lambda: self.opened() >= cut, "cuts")
        self.ingest(address, 2 * BATCH, "--end-of-stream")
        lines = [*iter(follower.next_line, None)]
        self.assertEqual(follower.wait(), 0, follower.stderr())
        direct = self.follow(self.server.grpc_address, "direct")
        self.assertEqual(lines, [*iter(direct.next_line, None)])
        self.assertGreater(len(lines), 20)

    def test_calls_that_nginx_cuts_go_on_and_nothing_is_lost(self) -> None:
        self.check_cut_calls("nginx", "8400")

    def test_calls_that_haproxy_cuts_go_on_and_nothing_is_lost(self) -> None:
        self.check_cut_calls("haproxy", "8200")

    def test_connections_that_haproxy_cuts_do_so_too(self) -> None:
        self.check_cut_calls("haproxy", "8300")

    def test_a_call_may_send_more_than_nginx_takes_by_itself(self) -> None:
        """Which is a megabyte: some two bytes a document."""
        self.create(window=1 << 18)
        self.ingest(self.start("nginx", "8400", cuts=False), 700_000)
        opened = self.server.metric("evenpack_ingest_streams_opened_total")
        self.assertEqual(opened, 1)

    def test_a_proxys_page_of_errors_is_no_answer_of_the_servers(self) -> None:
        """Also where gRPC takes it for a message, as it does now and then."""
        for status in (503, 404):
            errors = PageOfErrors(status)
            self.addCleanup(errors.close)
            for _ in range(4):
                job = ["--job", "run", "--dp-rank", "0", "--timeout", "1"]
                says = self.run_program(
                    "follow", *job, "--server", errors.address, status=UNAVAILABLE
                )
                self.assertRegex(
                    says,
                    rf"status: {status}; what answered speaks HTTP and no gRPC",
                )


if __name__ == "__main__":
    unittest.main()
