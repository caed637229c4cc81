"""The native module of attention, or why there is none."""

from __future__ import annotations

from evenpack.errors import UnimplementedError

try:
    from evenpack import _worker
except ImportError as error:
    raise UnimplementedError(
        f"this evenpack has no attention ({error}); accepted: one that is built where "
        "OpenBLAS and Gloo are (deploy/install_packages.sh build)"
    ) from error

__all__ = ["_worker"]
