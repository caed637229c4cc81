"""compose.yaml's own services, started in the images' roots as Compose would.

Prometheus and Grafana, whose images are not made here, are left out.
"""

from __future__ import annotations

import json
import sys
import unittest
from pathlib import Path
from typing import Any

from compose_file import own_services, read_compose
from container import ROOTS, Container, Containers, Start

# Of float32: gpu_worker/selftest has the bound.
ACCEPTED = 1e-5
STEPS = 3


class ComposeRunTest(unittest.TestCase):
    def setUp(self) -> None:
        self.services = own_services(read_compose())
        self.containers = self.enterContext(Containers([*self.services]))
        self.running: dict[str, Container] = {}
        self.volumes: dict[str, Path] = {}

    def volume(self, name: str, image: str, place: str) -> Path:
        """A volume, which the first service that mounts it makes."""
        if name not in self.volumes:
            self.volumes[name] = self.containers.volume(name, image, place)
        return self.volumes[name]

    def start_of(self, name: str, service: dict[str, Any]) -> Start:
        image = service["build"]["target"]
        tmpfs = [each.split(":", 1) for each in service["tmpfs"]]
        return Start(
            image,
            entrypoint=service["entrypoint"],
            command=service["command"],
            environment=service.get("environment", {}),
            volumes={
                each["target"]: self.volume(each["source"], image, each["target"])
                for each in service.get("volumes", [])
            },
            tmpfs=dict(tmpfs),
            hostname=service.get("hostname", name),
            user=service["user"],
            read_only=service["read_only"],
        )

    def bring_up(self, name: str) -> None:
        """Starts a service once those that it depends on are as it asks."""
        if name in self.running:
            return
        service = self.services[name]
        for other, how in service.get("depends_on", {}).items():
            self.bring_up(other)
            if how["condition"] == "service_healthy":
                check = self.services[other]["healthcheck"]["test"]
                self.assertEqual(check[0], "CMD")
                self.running[other].await_health(check[1:])
            else:
                self.assertEqual(self.running[other].wait(), 0)
        started = Container(self.containers.network, self.start_of(name, service))
        self.addCleanup(lambda: started.__exit__(None, None, None))
        self.running[name] = started

    def stop(self, name: str) -> int:
        start = Start(self.services[name]["build"]["target"])
        by_image = str(start.config()["stop_signal"])
        return self.running[name].stop(self.services[name].get("stop_signal", by_image))

    def next_line(self, name: str) -> str:
        line = self.running[name].next_line()
        if line is None:
            self.fail(f"{name} ended: {self.running[name].stderr()}")
        return line

    def test_packs_for_followers_and_computes_attention(self) -> None:
        for name in self.services:
            self.bring_up(name)
        for rank in range(2):
            for _ in range(STEPS):
                line = self.next_line(f"demo-follower-{rank}")
                self.assertTrue(line.startswith(f"rank {rank}: {{"), line)
            for _ in range(STEPS):
                told = json.loads(self.next_line(f"trainer-{rank}"))
                self.assertLess(told["error"], ACCEPTED)
        for name in ("demo-producer", "attention-producer", "server"):
            self.assertTrue(self.running[name].runs(), self.running[name].stderr())
        for name in [*self.services][::-1]:
            if name not in ("demo-jobs", "server"):
                self.stop(name)
        for worker in ("worker-0", "worker-1"):
            self.assertEqual(self.running[worker].wait(), 0)
        self.assertEqual(self.stop("server"), 0)


if __name__ == "__main__":
    if not ROOTS.exists():
        print("SKIPPED: image_roots.py made no roots here")
        sys.exit(77)
    unittest.main()
