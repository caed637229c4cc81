"""The unit of a host's server, and the configuration that it names."""

from __future__ import annotations

import configparser
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from child_process import ChildProcess

FOLDER = Path(os.environ["EVENPACK_SOURCE_DIR"]) / "deploy/systemd"
PROGRAM = os.environ["EVENPACK_SERVER_PROGRAM"]
UNIT = (FOLDER / "evenpack-server.service").read_text(encoding="utf-8")
CONFIG = (FOLDER / "server.yaml").read_text(encoding="utf-8")


class UnitTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def verify(self, text: str) -> str:
        """What systemd has to say of a unit, with the program where it is here."""
        unit = self.folder / "evenpack-server.service"
        here = text.replace("/usr/local/bin/evenpack-server", PROGRAM)
        unit.write_text(here, encoding="utf-8")
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", unit],
            capture_output=True,
            text=True,
        )
        # Of other units, which this one only comes after.
        said = (done.stdout + done.stderr).splitlines()
        return "\n".join(line for line in said if "evenpack" in line)

    def test_systemd_accepts_every_line(self) -> None:
        self.assertEqual(self.verify(UNIT), "")

    def test_a_line_that_systemd_does_not_know_would_be_seen(self) -> None:
        wrong = UNIT.replace("Restart=on-failure", "Restart=sometimes")
        self.assertIn("sometimes", self.verify(wrong))
        nowhere = UNIT.replace("/usr/local/bin/", "/nowhere/")
        self.assertIn("/nowhere/evenpack-server", self.verify(nowhere))

    def settings(self) -> configparser.ConfigParser:
        parser = configparser.ConfigParser(strict=False, interpolation=None)
        parser.optionxform = str  # type: ignore[assignment,method-assign]
        parser.read_string(UNIT)
        return parser

    def test_is_started_again_however_long_the_store_is_away(self) -> None:
        settings = self.settings()
        self.assertEqual(settings["Service"]["Restart"], "on-failure")
        self.assertGreaterEqual(int(settings["Service"].get("RestartSec", 0)), 1)
        # What no other start would mend.
        self.assertEqual(settings["Service"].get("RestartPreventExitStatus"), "2")
        # Otherwise systemd gives up after five starts within ten seconds.
        self.assertEqual(settings["Unit"].get("StartLimitIntervalSec"), "0")

    def test_has_longer_to_end_than_it_drains(self) -> None:
        service = self.settings()["Service"]
        drains = re.search(r"^drain-seconds: (\d+)$", CONFIG, re.MULTILINE)
        assert drains is not None
        self.assertGreater(int(service["TimeoutStopSec"]), int(drains.group(1)))
        self.assertIn("/etc/evenpack/server.yaml", service["ExecStart"])

    def test_the_server_takes_the_configuration(self) -> None:
        self.assertIn("store: sqlite:/var/lib/evenpack/store", CONFIG)
        here = CONFIG.replace("/var/lib/evenpack", str(self.folder))
        config = self.folder / "server.yaml"
        config.write_text(re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:0", here), "utf-8")
        with ChildProcess([PROGRAM, "--config", str(config)]) as server:
            first = server.next_line() or ""
            self.assertTrue(first.startswith("grpc listening on "), server.stderr())
        self.assertTrue((self.folder / "store").exists())


if __name__ == "__main__":
    unittest.main()
