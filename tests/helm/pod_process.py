"""A container of a rendered pod as a process of this machine, and its probes.

Mount paths become folders below one of the test's own, environment variables are those
of the container, and what the kubelet would ask is asked of this machine's address.
"""

from __future__ import annotations

import re
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import grpc
import health_client
from chart import Object, the
from child_process import DEADLINE, ChildProcess, wait_until
from deadline_channel import open_channel

ADDRESS = "127.0.0.1"
# What Secrets hold, by their names and keys.
Secrets = Mapping[str, Mapping[str, str]]


class PodFolders:
    """The volumes of a pod as folders, by where a container mounts them."""

    def __init__(
        self,
        root: Path,
        objects: Sequence[Object],
        pod: Object,
        secrets: Secrets | None = None,
    ) -> None:
        """Makes them below `root`; ConfigMaps are looked up in `objects`."""
        self.root = root
        self.secrets = secrets or {}
        self._paths: list[str] = []
        self._objects = objects
        volumes = {volume["name"]: volume for volume in pod.get("volumes", ())}
        containers = (*pod.get("initContainers", ()), *pod["containers"])
        for mount in (each for one in containers for each in one["volumeMounts"]):
            self._paths.append(mount["mountPath"])
            self.at(mount["mountPath"]).mkdir(parents=True, exist_ok=True)
        for mount in (each for one in containers for each in one["volumeMounts"]):
            files = self._files_of(volumes.get(mount["name"], {}))
            if files:
                self.write(mount["mountPath"], files)

    def _files_of(self, volume: Object) -> dict[str, str]:
        """What a volume of ConfigMaps or Secrets has, by name."""
        if "configMap" in volume:
            data = the(self._objects, "ConfigMap", volume["configMap"]["name"])["data"]
            return {name: self.mapped(text) for name, text in data.items()}
        found: dict[str, str] = {}
        projected = volume.get("projected", {"sources": []})["sources"]
        for source in (volume, *projected):
            if secret := source.get("secret"):
                data = self.secrets[secret.get("name") or secret["secretName"]]
                items = secret.get("items") or [{"key": k, "path": k} for k in data]
                found |= {each["path"]: data[each["key"]] for each in items}
        return found

    def write(self, path: str, files: Mapping[str, str]) -> None:
        """Puts files where a container mounts a folder, or others in their place.

        As the kubelet does it: links by way of `..data`, which is replaced at once.
        """
        folder = self.at(path)
        version = Path(tempfile.mkdtemp(prefix="..", dir=folder))
        for name, text in files.items():
            (version / name).write_text(text, encoding="utf-8")
            if not (folder / name).is_symlink():
                (folder / name).symlink_to(Path("..data", name))
        (folder / "..data_tmp").symlink_to(version.name)
        (folder / "..data_tmp").rename(folder / "..data")

    def at(self, path: str) -> Path:
        """The folder that is mounted there."""
        return self.root / path.lstrip("/")

    def mapped(self, text: str) -> str:
        """A text with mount paths replaced by where they are here."""
        paths = "|".join(map(re.escape, sorted(self._paths, key=len, reverse=True)))
        return re.sub(
            rf"(?<![\w/])(?:{paths})(?![\w-])",
            lambda match: str(self.at(match.group())),
            text,
        )


def variables_of(
    container: Object, fields: Mapping[str, str], secrets: Secrets | None = None
) -> dict[str, str]:
    """A container's environment variables; `fields` are those of its pod, by path."""

    def value(each: Object) -> str:
        if "value" in each:
            return str(each["value"])
        if secret := each["valueFrom"].get("secretKeyRef"):
            return (secrets or {})[secret["name"]][secret["key"]]
        return fields[each["valueFrom"]["fieldRef"]["fieldPath"]]

    return {each["name"]: value(each) for each in container.get("env", ())}


def arguments_of(
    container: Object, folders: PodFolders, variables: Mapping[str, str]
) -> list[str]:
    """Its arguments, with $(NAME) replaced as the kubelet does it."""

    def expanded(argument: str) -> str:
        return re.sub(r"\$\((\w+)\)", lambda match: variables[match[1]], argument)

    return [folders.mapped(expanded(each)) for each in container["args"]]


class PodProcess(ChildProcess):
    """A container's program, started with its arguments and environment."""

    def __init__(
        self,
        program: str,
        container: Object,
        folders: PodFolders,
        names: Mapping[str, str] | None = None,
    ) -> None:
        """Starts it; whether it serves is for its probes to say.

        `names` are HOST:PORT of the cluster, and what they lead to here.
        """
        self.container = container
        fields = {"status.podIP": ADDRESS, "metadata.name": "evenpack-0"}
        variables = {
            name: folders.mapped(value)
            for name, value in variables_of(container, fields, folders.secrets).items()
        }
        arguments = arguments_of(container, folders, variables)
        arguments = [(names or {}).get(each, each) for each in arguments]
        super().__init__([program, *arguments], variables)

    def _port(self, port: int | str) -> int:
        """A port's number, by its number or name."""
        ports = self.container["ports"]
        named = {each["name"]: each["containerPort"] for each in ports}
        return int(named.get(port, port))

    def probe(self, kind: str) -> bool:
        """Whether a probe succeeds now; its time isn't kept on a busy machine."""
        spec: Any = self.container[f"{kind}Probe"]
        if "grpc" in spec:
            return self._grpc_probe(spec["grpc"])
        port = self._port(spec["httpGet"]["port"])
        url = f"http://{ADDRESS}:{port}{spec['httpGet']['path']}"
        return http_status(url) in range(200, 400)

    def _grpc_probe(self, spec: Object) -> bool:
        with open_channel(f"{ADDRESS}:{self._port(spec['port'])}") as self.channel:
            try:
                answer = health_client.check(self, spec["service"])
            except grpc.RpcError:
                return False
        return answer == health_client.SERVING

    def await_started(self) -> None:
        """Until its startup probe has succeeded, as often as the kubelet would ask."""

        def started() -> bool:
            if not self.runs():
                raise AssertionError(f"it has ended: {self.stderr()}")
            return self.probe("startup")

        wait_until(started, "startup probe")

    def await_probe(self, kind: str, result: bool) -> None:
        """Until a probe has this result."""
        told: Callable[[], bool] = lambda: self.probe(kind) is result  # noqa: E731
        wait_until(told, f"{kind} probe")


def http_status(url: str) -> int:
    """What a page is answered with; 0 where nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=DEADLINE) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except OSError:
        return 0
