"""Whether, and by which flags, unshare(1) gives a process mounts of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

# In a chroot the root is no mount, whose propagation could be changed.
FLAGS = (["--mount"], ["--mount", "--propagation", "unchanged"])


def _tried(flags: list[str], place: str) -> str:
    """Why the flags don't do; empty where they do."""
    spaces = [*flags, "--pid", "--net", "--uts", "--ipc", "--fork"]
    done = subprocess.run(
        ["unshare", *spaces, "mount", "-t", "tmpfs", "evenpack", place],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        return done.stderr.strip()
    if place in Path("/proc/mounts").read_text(encoding="utf-8"):
        subprocess.run(["umount", place], check=True)
        return "mounts of a new namespace are seen outside"
    return ""


def mount_flags() -> list[str]:
    """The flags, by which nothing that is mounted is seen outside."""
    why = "not root"
    if os.geteuid() == 0:
        with tempfile.TemporaryDirectory() as place:
            for flags in FLAGS:
                why = _tried(flags, place)
                if not why:
                    return flags
    raise PermissionError(why)


def why_not() -> str:
    """What this machine lacks for roots and containers; empty where it has all."""
    for program in ("debootstrap", "unshare", "nsenter", "chroot"):
        if shutil.which(program) is None:
            return f"{program} is missing"
    try:
        mount_flags()
    except PermissionError as error:
        return str(error)
    return ""
