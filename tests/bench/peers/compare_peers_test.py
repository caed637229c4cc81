"""Tests of compare_peers.py: peers that don't run, and the tables."""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import compare_peers
from compare_peers import Peers

PACKER = {
    "name": "somebody's",
    "optimises": "tokens",
    "note": "no cap",
    "ms": 4.0562,
    "steps": 2,
    "micro_batches": 9,
    "imbalance": 1.3562,
    "weighted": 1.4054,
    "over": 0.0114,
    "fill": 0.98765,
    "dropped": 3,
}
SOLVER = {**PACKER, "name": "exact", "bound": 1.2, "proven": 1}
RESULT: dict[str, Any] = {
    "sizes": [
        {
            "micro_batches": 4,
            "steps": 2,
            "solved": 2,
            "packers": [PACKER, {**PACKER, "imbalance": None, "weighted": None}],
            "solvers": [SOLVER, PACKER],
        }
    ],
    "plans": [
        {
            "name": "halves",
            "cp": 8,
            "note": "",
            "imbalance": 1.5,
            "worst": 2,
            "ms": 0.012,
        }
    ],
    "failed": {"axolotl": "not installed: why"},
}


class ComparePeersTest(unittest.TestCase):
    def measure(self, peers: Peers, peer: str, adapter: str) -> list[Any]:
        with (
            contextlib.redirect_stderr(io.StringIO()),
            tempfile.NamedTemporaryFile("w") as lengths,
        ):
            arguments = [adapter, lengths.name, "4", "10", "15", "2"]
            return peers.measure(peer, "measure_peer.py", arguments)

    def test_adapter_that_fails_is_listed_with_its_last_words(self) -> None:
        peers = Peers(Path(sys.executable), {})
        self.assertEqual(self.measure(peers, "nobody", "no_such_packer"), [])
        self.assertEqual(
            peers.failed,
            {
                "nobody 4 10 15 2": "ModuleNotFoundError: No module named "
                "'no_such_packer' (status 1)"
            },
        )

    def test_peer_that_is_not_installed_is_not_tried(self) -> None:
        peers = Peers(Path("/no/such/python"), {"verl": "not installed: why"})
        self.assertEqual(self.measure(peers, "verl", "verl_packer"), [])
        self.assertEqual(peers.failed, {"verl": "not installed: why"})

    def test_reasons_are_read_from_the_installer(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "failed.tsv"
            self.assertEqual(compare_peers.read_failed(file), {})
            file.write_text("trl\tnot installed: a b\n", encoding="utf-8")
            reasons = compare_peers.read_failed(file)
        self.assertEqual(reasons, {"trl": "not installed: a b"})
        self.assertEqual(compare_peers.read_failed(None), {})

    def test_fewer_steps_where_they_are_larger(self) -> None:
        for steps, expected in ((200, [(4, 200), (64, 40)]), (1, [(4, 1), (64, 1)])):
            sizes = compare_peers.sizes_of(steps)
            self.assertEqual([(s.micro_batches, s.steps) for s in sizes], expected)

    def test_tables(self) -> None:
        lines = [" ".join(line.split()) for line in compare_peers.report(RESULT)]
        self.assertEqual(
            lines,
            [
                "N = 4, 2 global batches",
                "packer ms/step imbalance weighted over cap fill micro-batches "
                "left out optimises note",
                "somebody's 4.06 1.356 1.405 1.14% 0.988 9 3 tokens no cap",
                "somebody's 4.06 1.14% 0.988 9 3 tokens no cap",
                "",
                "N = 4, 2 batches, exactly",
                "solver ms/step imbalance bound proven best",
                "exact 4.06 1.35620 1.20000 1 of 2",
                "somebody's 4.06 1.35620",
                "",
                "20 micro-batches over context-parallel ranks",
                "cp planner ms/plan imbalance worst note",
                "8 halves 0.0120 1.5000 2.0000",
                "",
                "without rows",
                "axolotl: not installed: why",
            ],
        )


if __name__ == "__main__":
    unittest.main()
