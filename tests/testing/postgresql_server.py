"""A PostgreSQL server of a test's own: a scratch folder, and a port on loopback.

As a program it runs one for all tests of a ctest run:
  postgresql_server.py start FOLDER   FOLDER/target then says how to connect
  postgresql_server.py stop FOLDER
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from free_ports import free_ports

USER = "evenpack"
# One who has to give it.
SECRET_USER = "secretive"
PASSWORD = "open-sesame"
# PostgreSQL refuses to run as root.
_UNPRIVILEGED = "postgres"
_UNPRIVILEGED_ENTER = (
    "setpriv",
    f"--reuid={_UNPRIVILEGED}",
    f"--regid={_UNPRIVILEGED}",
    "--clear-groups",
    "--",
)
_START_SECONDS = 60
# Where data lie that nobody has used yet, once there are some.
_template: list[Path] = []


def _programs() -> Path:
    """The folder of initdb, pg_ctl and postgres."""
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    folders = sorted(versions, key=lambda each: int(each.parent.name))
    if folders:
        return folders[-1]
    found = shutil.which("initdb")
    if found is None:
        raise AssertionError("no PostgreSQL; accepted: the package postgresql")
    return Path(found).parent


class PostgresqlServer:
    """A database cluster; `start` runs it. Leaving the context removes it."""

    def __init__(
        self, *, durable: bool, preload: Path | None = None, network: str | None = None
    ) -> None:
        """Makes it; one that is not durable never waits for the disk.

        `preload`: a library that fills the disk while the file `full` of its folder
        is there (tests/fault/full_disk.cc). `network`: whose addresses may connect
        besides loopback's, ADDRESS/BITS; it listens on all of its own then.
        """
        if preload is not None and not preload.exists():
            raise AssertionError(f"{preload} is not built; accepted: target full_disk")
        self._folder = Path(tempfile.mkdtemp(prefix="evenpack_postgresql_"))
        self._data = self._folder / "data"
        if os.geteuid() == 0:
            shutil.chown(self._folder, _UNPRIVILEGED)
        self._variables: dict[str, str] = {}
        if preload is not None:
            # Where the unprivileged can read it.
            library = shutil.copy(preload, self._folder / "preload.so")
            self._variables = {
                "LD_PRELOAD": str(library),
                "EVENPACK_FULL_DISK": str(self._folder / "full"),
            }
        (self.port,) = free_ports(1)
        self._make_data()
        settings = {
            "port": f"{self.port}",
            "listen_addresses": "'127.0.0.1'" if network is None else "'*'",
            "unix_socket_directories": "''",
            "shared_buffers": "'16MB'",
            "max_connections": "60",
            "fsync": "on" if durable else "off",
            "full_page_writes": "on" if durable else "off",
            "log_line_prefix": "'%m [%p] %a '",
        }
        lines = [f"{name} = {value}\n" for name, value in settings.items()]
        with (self._data / "postgresql.conf").open("a") as file:
            file.writelines(lines)
        hosts = self._data / "pg_hba.conf"
        hosts.write_text(
            f"host all {SECRET_USER} 127.0.0.1/32 scram-sha-256\n"
            f"host all all 127.0.0.1/32 trust\n"
            f"host replication all 127.0.0.1/32 trust\n"
            + ("" if network is None else f"host all all {network} trust\n")
        )

    def __enter__(self) -> Self:
        """Nothing more."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stops it and removes its data."""
        self.remove()

    @property
    def folder(self) -> Path:
        """Where its data and its log are."""
        return self._folder

    def target(self, database: str = "postgres") -> str:
        """What libpq takes."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def _make_data(self) -> None:
        """Its data, once it has a folder and a port: made once, then copied."""
        if not _template:
            folder = Path(tempfile.mkdtemp(prefix="evenpack_postgresql_"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            if os.geteuid() == 0:
                shutil.chown(folder, _UNPRIVILEGED)
            flags = ("--no-sync", "--locale=C", "-E", "UTF8", "-A", "trust", "-U", USER)
            self._run("initdb", *flags, "-D", str(folder / "data"))
            _template.append(folder / "data")
        # Who owns the files stays.
        subprocess.run(["cp", "-a", str(_template[0]), str(self._data)], check=True)

    def _run(
        self, program: str, *arguments: str, variables: Mapping[str, str] | None = None
    ) -> str:
        # Not by the parameters of subprocess, which then forks: a child of a process
        # with threads of gRPC may crash before it has become the program.
        enter = _UNPRIVILEGED_ENTER if os.geteuid() == 0 else ()
        finished = subprocess.run(
            [*enter, str(_programs() / program), *arguments],
            cwd=self._folder,
            env={**os.environ, **(variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if finished.returncode != 0:
            log = self.log()
            status = finished.returncode
            raise AssertionError(f"{program}: {status}: {finished.stdout}\n{log}")
        return finished.stdout

    def log(self) -> str:
        """What it wrote so far."""
        path = self._folder / "log"
        return path.read_text() if path.exists() else ""

    def start(self) -> None:
        """Runs it; returns when it takes connections."""
        flags = ("--wait", "-s", "-t", f"{_START_SECONDS}")
        places = ("-D", str(self._data), "-l", str(self._folder / "log"))
        self._run("pg_ctl", "start", *flags, *places, variables=self._variables)

    def stop(self, mode: str = "immediate") -> None:
        """Ends it: immediate is a crash, fast an orderly end."""
        self._run("pg_ctl", "stop", "-s", "-m", mode, "-D", str(self._data))

    def runs(self) -> bool:
        """Whether it does."""
        return (self._data / "postmaster.pid").exists()

    def processes(self) -> list[int]:
        """The server's process and those that it has started."""
        first = int((self._data / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{first}/task/{first}/children").read_text()
        return [first, *map(int, children.split())]

    def signal(self, number: signal.Signals) -> None:
        """To all of its processes: SIGSTOP makes it hang, SIGCONT go on."""
        for process in self.processes():
            os.kill(process, number)

    def fill_disk(self, *, full: bool) -> None:
        """From now on tables can't grow, or can again."""
        path = self._folder / "full"
        if full:
            path.touch()
        else:
            path.unlink()

    def sql(self, statements: str, database: str = "postgres") -> str:
        """What psql prints of them, bare."""
        flags = ("-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1")
        printed = self._run(
            "psql", *flags, "-d", self.target(database), "-c", statements
        )
        return printed.strip()

    def remove(self) -> None:
        """Stops it and removes its data."""
        if self.runs():
            self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def _stop_kept(folder: Path) -> None:
    """Ends what an earlier start left, also one that was cut off."""
    kept = folder / "folder"
    if not kept.exists():
        return
    data = Path(kept.read_text())
    process = data / "data" / "postmaster.pid"
    if process.exists():
        number = int(process.read_text().split()[0])
        try:
            os.kill(number, signal.SIGQUIT)
        except ProcessLookupError:
            process.unlink()
        end = time.monotonic() + _START_SECONDS
        while process.exists() and time.monotonic() < end:
            time.sleep(0.02)
    shutil.rmtree(data, ignore_errors=True)
    kept.unlink()


def main() -> None:
    """The program."""
    _, command, where = sys.argv
    folder = Path(where)
    folder.mkdir(parents=True, exist_ok=True)
    _stop_kept(folder)
    if command == "start":
        server = PostgresqlServer(durable=False)
        (folder / "folder").write_text(str(server.folder))
        server.start()
        server.sql(f"CREATE ROLE {SECRET_USER} LOGIN PASSWORD '{PASSWORD}'")
        (folder / "target").write_text(server.target())


if __name__ == "__main__":
    main()
