"""A rendered release whose server runs as a process of this machine."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from chart import pod_of, render, the, values_flags
from free_ports import free_ports
from pod_process import ADDRESS, PodFolders, PodProcess, Secrets, variables_of

SERVER = os.environ["EVENPACK_SERVER_PROGRAM"]
EVENPACKCTL = Path(os.environ["EVENPACKCTL"])


class Release:
    """A rendered chart on ports that are free, and the folders of its server's pod."""

    def __init__(
        self,
        root: Path,
        values: str | None = None,
        flags: Sequence[str] = (),
        secrets: Secrets | None = None,
    ) -> None:
        """Renders it with values of MATRIX and flags, and makes them below `root`."""
        ports = dict(zip(("grpc", "http", "health"), free_ports(3), strict=True))
        flags = [
            *values_flags(values),
            *(f"--set=server.ports.{name}={port}" for name, port in ports.items()),
            # No machine of the tests need have IPv6.
            "--set=server.bindAddress=0.0.0.0",
            *flags,
        ]
        self.objects = render(flags)
        self.ports = ports
        stateful_set = the(self.objects, "StatefulSet")
        pod = pod_of(stateful_set)
        assert pod is not None
        self.pod = pod
        self.folders = PodFolders(root, self.objects, pod, secrets)
        service = the(self.objects, "Service", stateful_set["metadata"]["name"])
        listed = {port["name"]: port["port"] for port in service["spec"]["ports"]}
        namespace = service["metadata"]["namespace"]
        # As names of the cluster, and where they lead here.
        self.names = {
            f"{service['metadata']['name']}.{namespace}.svc:{listed['grpc']}": (
                f"{ADDRESS}:{ports['grpc']}"
            )
        }

    def start(self, names: Mapping[str, str] | None = None) -> PodProcess:
        """Its server; `names` are those of the cluster that lead somewhere here."""
        return PodProcess(SERVER, self.pod["containers"][0], self.folders, names)

    @property
    def address(self) -> str:
        """HOST:PORT of its server here."""
        return f"{ADDRESS}:{self.ports['grpc']}"

    def evenpackctl(self, *arguments: str) -> str:
        """What it writes."""
        done = self.ask(*arguments)
        if done.returncode != 0:
            raise AssertionError(done)
        return done.stdout

    def ask(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What it writes and ends with, also where it fails."""
        return subprocess.run(
            [EVENPACKCTL, *arguments, "--server", self.address],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def run_test_pod(
        self, programs: Path, server: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """The pod of `helm test`, with what is in a folder in front of the PATH.

        `server`: another address than the server's.
        """
        pod = the(self.objects, "Pod")["spec"]
        (container,) = pod["containers"]
        variables = variables_of(container, {})
        root = self.folders.root / "test"
        folders = PodFolders(root, self.objects, pod, self.folders.secrets)
        variables = {name: folders.mapped(value) for name, value in variables.items()}
        named = self.names[variables["EVENPACK_SERVER"]]
        variables["EVENPACK_SERVER"] = server or named
        path = f"{programs}:{os.environ['PATH']}"
        with tempfile.TemporaryDirectory() as folder:
            return subprocess.run(
                container["command"],
                env={**os.environ, **variables, "PATH": path, "TMPDIR": folder},
                capture_output=True,
                text=True,
                check=False,
                timeout=pod["activeDeadlineSeconds"],
            )
