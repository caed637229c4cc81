"""Containers without an engine."""

from __future__ import annotations

import sys
import unittest

from container import ROOTS, Container, Containers, Start


class ContainerTest(unittest.TestCase):
    def setUp(self) -> None:
        self.network = self.enterContext(Containers()).network

    def container(self, script: str) -> Container:
        start = Start("server", entrypoint=["/bin/sh", "-c", script])
        return self.enterContext(Container(self.network, start))

    def test_a_running_one_is_stopped_by_its_signal(self) -> None:
        script = "trap 'exit 3' TERM; echo begun; while :; do sleep 0.01; done"
        container = self.container(script)
        self.assertEqual(container.next_line(), "begun")
        self.assertEqual(container.stop("SIGTERM"), 3)

    def test_one_that_has_ended_is_stopped_already(self) -> None:
        container = self.container("exit 4")
        self.assertEqual(container.wait(), 4)
        self.assertEqual(container.stop("SIGTERM"), 4)

    def test_one_that_has_ended_executes_and_becomes_healthy_no_more(self) -> None:
        container = self.container("echo why >&2; exit 4")
        self.assertEqual(container.wait(), 4)
        with self.assertRaisesRegex(ProcessLookupError, "why"):
            container.execute("true")
        with self.assertRaisesRegex(ProcessLookupError, "why"):
            container.await_health(["true"])


if __name__ == "__main__":
    if not ROOTS.exists():
        print("SKIPPED: image_roots.py made no roots here")
        sys.exit(77)
    unittest.main()
