"""Starts a program in a root as a container engine would, within new namespaces.

    unshare --mount --pid --fork start_in_root.py SPEC

SPEC is JSON: `root`; `argv`; `env`; `user` and `group`, numbers; `read_only`; `hosts`,
a file; `volumes`, pairs of a folder and where it is mounted; `tmpfs`, pairs of a place
and mount options; `hostname`. The program takes this process's place, without
capabilities and without a way to new ones.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

# linux/prctl.h
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38


def mount(*arguments: str | Path) -> None:
    """Mounts."""
    subprocess.run(["mount", *arguments], check=True)


def prepare_root(spec: dict[str, Any]) -> None:
    """The mounts of a container."""
    root = Path(spec["root"])
    mount("--bind", root, root)
    mount("-t", "proc", "proc", root / "proc")
    mount("--bind", "/dev", root / "dev")
    mount("--bind", spec["hosts"], root / "etc/hosts")
    for place, options in spec["tmpfs"]:
        mount("-t", "tmpfs", "-o", options, "tmpfs", root / place.lstrip("/"))
    for folder, place in spec["volumes"]:
        mount("--bind", folder, root / place.lstrip("/"))
    if spec["read_only"]:
        mount("-o", "remount,bind,ro", root)


def give_up_privileges(user: int, group: int) -> None:
    """As with cap_drop ALL and no-new-privileges."""
    libc = ctypes.CDLL(None, use_errno=True)
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text(encoding="utf-8"))
    for capability in range(last + 1):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), f"capability {capability}")
    os.setgroups([])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")


def main() -> None:
    """Prepares, and executes the program."""
    spec = json.loads(sys.argv[1])
    socket.sethostname(spec["hostname"])
    prepare_root(spec)
    os.chroot(spec["root"])
    os.chdir("/")
    give_up_privileges(spec["user"], spec["group"])
    os.environ.update(spec["env"])
    os.execvpe(spec["argv"][0], spec["argv"], spec["env"])


if __name__ == "__main__":
    main()
