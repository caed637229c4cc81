"""docs/api.md lists the reasons of errors that the sources have, as tests see them."""

from __future__ import annotations

import os
import re
import unittest
from dataclasses import dataclass
from pathlib import Path

import call_refusal_test
import spec_refusal_test
import stream_refusal_test
from refusals import Refusal

SOURCE = Path(os.environ["EVENPACK_SOURCE_DIR"])
# {"REASON", values}, in a file that attaches details.
REASON = re.compile(r'\{\s*"([A-Z]+(?:_[A-Z]+)*)",')
# One that has a name, since it is asked for too.
NAMED_REASON = re.compile(r'inline constexpr char k\w+\[\] = "([A-Z_]+)";')
ROW = re.compile(r"\| `([A-Z_]+)` \| `([A-Z_]+)` \| ([^|]*)\|[^|]+\|[^|]+\|")


@dataclass(frozen=True)
class Row:
    """What the table says of a reason."""

    code: str
    metadata: frozenset[str]


def documented() -> dict[str, Row]:
    """The table of reasons."""
    rows = {}
    for line in (SOURCE / "docs/api.md").read_text(encoding="utf-8").splitlines():
        row = ROW.fullmatch(line)
        if row is not None:
            names = frozenset(re.findall(r"[a-z_]+", row[3]))
            rows[row[1]] = Row(row[2], names)
    return rows


def of_sources() -> set[str]:
    """Every reason that the server attaches."""
    named = "".join(
        path.read_text(encoding="utf-8")
        for path in (SOURCE / "server/runtime").glob("*.h")
    )
    return {
        reason
        for path in (SOURCE / "server").rglob("*.cc")
        for text in [path.read_text(encoding="utf-8")]
        if "WithDetail(" in text
        for reason in REASON.findall(text)
    } | {*NAMED_REASON.findall(named)}


def refusals() -> list[Refusal]:
    """What the tests of wrong input expect."""
    cases = [
        *(expected for _, expected in call_refusal_test.JOB_CASES),
        *(expected for _, expected in call_refusal_test.STEP_CASES),
        *(expected for _, expected in stream_refusal_test.INGEST_CASES),
        *(expected for _, expected in stream_refusal_test.STEPS_CASES),
        *(expected for _, expected in spec_refusal_test.POLICY_CASES),
    ]
    return [expected for expected in cases if expected.reason]


class ApiDocTest(unittest.TestCase):
    def test_the_table_has_the_reasons_of_the_sources(self) -> None:
        self.assertEqual(set(documented()), of_sources())
        self.assertGreater(len(of_sources()), 10)

    def test_codes_and_metadata_are_those_that_come(self) -> None:
        rows = documented()
        for expected in refusals():
            row = rows[expected.reason]
            self.assertEqual(row.code, expected.code, expected.reason)
            self.assertLessEqual(expected.metadata.keys(), row.metadata)


if __name__ == "__main__":
    unittest.main()
