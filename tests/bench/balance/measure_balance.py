"""Measures the policy `balanced` and writes the figures as JSON.

    measure_balance.py BUILD RESULTS [STUDY ...]

BUILD has bin/evenpackctl and bench/offline_reference. RESULTS gets each named study, or
all of them, beside those it already has.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from packed import Packer
from studies import Studies, every_study

# Of each offline search.
OPERATIONS = 30_000_000


def main() -> int:
    """Runs the studies one after the other."""
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    build, path = Path(sys.argv[1]), Path(sys.argv[2])
    results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    studies = every_study(
        Studies(
            Packer(str(build / "bin/evenpackctl")),
            str(build / "bench/offline_reference"),
            path.parent / "lengths",
        ),
        OPERATIONS,
    )
    for name in sys.argv[3:] or studies:
        started = time.monotonic()
        results[name] = studies[name]()
        path.write_text(json.dumps(results, indent=1) + "\n")
        print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
