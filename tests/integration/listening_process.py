"""A process under test that tells where it listens, and has pages for operators."""

from __future__ import annotations

import urllib.error
import urllib.request

from child_process import DEADLINE, ChildProcess

ANY_PORT = "127.0.0.1:0"


class ListeningProcess(ChildProcess):
    """Its HTTP port is at `http_address`, where it has one."""

    http_address = ""

    def announced(self, kind: str) -> str:
        """The address of its next line, '<kind> listening on <address>'.

        Ends the process where that is another line.
        """
        line = self.next_line() or ""
        prefix = f"{kind} listening on "
        if not line.startswith(prefix):
            message = f"'{line}' instead of '{prefix}'; {self.stderr()}"
            ChildProcess.__exit__(self, None, None, None)
            raise AssertionError(message)
        return line.removeprefix(prefix)

    def get(self, path: str) -> tuple[int, str]:
        """The status and text of a page."""
        url = f"http://{self.http_address}{path}"
        try:
            with urllib.request.urlopen(url, timeout=DEADLINE) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def metrics(self) -> str:
        """The text of /metrics."""
        status, text = self.get("/metrics")
        if status != 200:
            raise AssertionError(f"/metrics answered {status}: {text}")
        return text

    def metric(self, series: str) -> float:
        """The value of one series, named as /metrics writes it."""
        for line in self.metrics().splitlines():
            name, _, value = line.rpartition(" ")
            if name == series:
                return float(value)
        raise AssertionError(f"/metrics has no series {series}")
