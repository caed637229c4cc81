"""Ends native sessions before the interpreter does.

They have threads of their own that call into Python, which must not happen any more
once it is being torn down.
"""

from __future__ import annotations

import atexit
import os
import weakref
from typing import Protocol


class Session(Protocol):
    """A native consumer or producer."""

    def end(self) -> None:
        """Ends its threads; later calls raise CancelledError."""


_open: weakref.WeakSet[Session] = weakref.WeakSet()


def end_at_exit(session: Session) -> None:
    """Has a session ended when the interpreter ends, if it is still there then."""
    _open.add(session)


# A fork has none of their threads to wait for.
os.register_at_fork(after_in_child=_open.clear)


@atexit.register
def _end_all() -> None:
    for session in list(_open):
        session.end()
