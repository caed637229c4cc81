"""What a client waits for, in Python's log."""

from __future__ import annotations

import logging

_log = logging.getLogger("evenpack")


def warn(line: str) -> None:
    """Of what has failed for some seconds and is tried again, or works again."""
    _log.warning("%s", line)
