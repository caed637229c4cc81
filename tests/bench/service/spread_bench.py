"""One, two and three servers of a PostgreSQL database against SQLite: JSON.

    spread_bench.py traffic [--rounds N] [--jobs N] [--under-way N] [--seconds N]
                            [--servers N]
    spread_bench.py idle [--jobs N] [--seconds N] [--servers N]

`traffic`: documents a second that are acknowledged, of jobs with a producer and a
consumer each. A round measures every arrangement once, so that what else the machine
does hits all alike; a line for each, and at the end one with the ratios to SQLite in
the same round. `processors` is how many processors each kept busy, and `machine` how
many all programs did, others included; `processor_seconds_a_million` what a million
documents took of them, which depends little on what else runs.

`idle`: a line for each number of servers: how long it takes to create so many jobs, to
spread them over one more server, and to start again with them, and what they take when
nobody uses them.

EVENPACK_SERVER_PROGRAM and PROCESS_BENCH name the programs; spread.sh sets them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import job_specs
from child_process import ChildProcess, wait_until
from evenpack.v1 import packing_service_pb2 as api
from postgresql_server import PostgresqlServer
from processor_time import ProcessorTime
from server_process import ServerProcess

# Calls at once that create jobs.
CREATORS = 16


@dataclass(frozen=True)
class Arrangement:
    """So many servers of one store."""

    store: str
    servers: int

    def __str__(self) -> str:
        """As figures are named."""
        return f"{self.store} {self.servers}"


SQLITE = Arrangement("sqlite", 1)


class Stores:
    """Empty stores on one disk: SQLite files, and databases of one cluster."""

    def __init__(self, database: PostgresqlServer, folder: Path) -> None:
        """The cluster runs; files go into the folder."""
        self.database = database
        self._folder = folder
        self._made = 0

    @contextlib.contextmanager
    def make(self, store: str) -> Iterator[str]:
        """What --store takes; all of it is removed at the end."""
        self._made += 1
        name = f"bench_{self._made}"
        if store == "sqlite":
            yield f"sqlite:{self._folder / name}"
            for path in self._folder.glob(f"{name}*"):
                path.unlink()
        else:
            self.database.sql(f"CREATE DATABASE {name}")
            yield self.database.target(name)
            self.database.sql(f"DROP DATABASE {name} WITH (FORCE)")

    def flushes(self) -> int:
        """Of the cluster's log to the disk, so far."""
        return int(self.database.sql("SELECT wal_sync FROM pg_stat_wal"))

    def processes(self) -> list[int]:
        """The cluster's."""
        return self.database.processes()


class Watch:
    """What servers and their database take, from when it is made."""

    def __init__(self, servers: list[ServerProcess], stores: Stores) -> None:
        """Begins."""
        self._groups = {
            "servers": [server.pid for server in servers],
            "database": stores.processes(),
        }
        self._before = ProcessorTime.now(self._groups)

    def shares(self) -> dict[str, float]:
        """Processors that were busy since."""
        shares = ProcessorTime.now(self._groups).shares_since(self._before)
        return {name: round(share, 3) for name, share in shares.items()}


@contextlib.contextmanager
def start_servers(count: int, store: str) -> Iterator[list[ServerProcess]]:
    """So many, one after another."""
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(ServerProcess("--store", store)) for _ in range(count)
        ]


def total(servers: list[ServerProcess], metric: str) -> float:
    """Of all servers."""
    return sum(server.metric(metric) for server in servers)


def measure_traffic(
    arrangement: Arrangement, options: argparse.Namespace, stores: Stores
) -> dict[str, Any]:
    """One arrangement, once."""
    with (
        stores.make(arrangement.store) as store,
        start_servers(arrangement.servers, store) as servers,
    ):
        addresses = ",".join(server.grpc_address for server in servers)
        numbers = (options.jobs, options.under_way, options.seconds)
        arguments = [os.environ["PROCESS_BENCH"], "traffic", addresses]
        with ChildProcess([*arguments, *map(str, numbers)]) as clients:
            if clients.next_line() is None:
                raise SystemExit(f"spread_bench.py: {clients.stderr()}")
            commits = total(servers, "evenpack_store_commits_total")
            records = total(servers, "evenpack_store_records_total")
            flushes = stores.flushes()
            watch = Watch(servers, stores)
            line = clients.next_line()
            shares = watch.shares()
            commits = total(servers, "evenpack_store_commits_total") - commits
            records = total(servers, "evenpack_store_records_total") - records
            flushes = stores.flushes() - flushes
            if line is None:
                raise SystemExit(f"spread_bench.py: {clients.stderr()}")
            measured: dict[str, Any] = json.loads(line)
    shares["clients"] = measured.pop("clients_processor_share")
    # A disk that stands still for so long is no error.
    millions = max(measured["documents_per_second"], 1) / 1e6
    own = {name: share for name, share in shares.items() if name != "machine"}
    own["all"] = sum(own.values())
    measured.update(
        store=arrangement.store,
        servers=arrangement.servers,
        commits_per_second=round(commits / options.seconds),
        records_a_commit=round(records / max(commits, 1), 1),
        database_flushes_per_second=round(flushes / options.seconds),
        processors=shares,
        processor_seconds_a_million={
            name: round(share / millions, 2) for name, share in own.items()
        },
    )
    return measured


def summary_of(
    lines: list[dict[str, Any]], sqlite: list[dict[str, Any]]
) -> dict[str, Any]:
    """Medians of an arrangement's rounds, and ratios to SQLite in the same round."""
    rates = [line["documents_per_second"] for line in lines]
    ratios = [
        rate / max(line["documents_per_second"], 1)
        for rate, line in zip(rates, sqlite, strict=True)
    ]
    taken = [line["processor_seconds_a_million"] for line in lines]
    return {
        "documents_per_second": round(statistics.median(rates)),
        "ratio": round(statistics.median(ratios), 2),
        "ratio_least": round(min(ratios), 2),
        "ratio_most": round(max(ratios), 2),
        "processor_seconds_a_million": {
            name: round(statistics.median(each[name] for each in taken), 2)
            for name in taken[0]
        },
    }


def compare_traffic(options: argparse.Namespace, stores: Stores) -> None:
    """All rounds."""
    counts = range(1, options.servers + 1)
    arrangements = [SQLITE, *(Arrangement("postgresql", count) for count in counts)]
    lines: dict[Arrangement, list[dict[str, Any]]] = {each: [] for each in arrangements}
    for number in range(options.rounds):
        for arrangement in arrangements:
            measured = measure_traffic(arrangement, options, stores)
            lines[arrangement].append(measured)
            print(json.dumps({"round": number, **measured}), flush=True)
    summaries = {
        str(each): summary_of(measured, lines[SQLITE])
        for each, measured in lines.items()
    }
    print(json.dumps({"bench": "traffic summary", **summaries}))


def create_jobs(servers: list[ServerProcess], count: int) -> None:
    """At the servers by turns."""
    spec = job_specs.small_spec()

    def create(number: int) -> None:
        server = servers[number % len(servers)]
        server.stub.CreateJob(api.CreateJobRequest(name=f"idle-{number}", spec=spec))

    with ThreadPoolExecutor(CREATORS) as creators:
        for _ in creators.map(create, range(count)):
            pass


def are_spread(
    database: PostgresqlServer, target: str, servers: list[ServerProcess]
) -> bool:
    """Whether these servers lead all jobs, each its share at most."""
    addresses = ", ".join(f"'{server.grpc_address}'" for server in servers)
    counts = database.sql(
        "SELECT count(*) FROM evenpack_leases UNION ALL (SELECT count(*) FROM "
        "evenpack_leases JOIN evenpack_servers USING (server) "
        f"WHERE address IN ({addresses}) GROUP BY server)",
        target.rpartition("/")[2],
    )
    jobs, *each = map(int, counts.split())
    return sum(each) == jobs and max(each) <= math.ceil(jobs / len(servers))


def await_spread(
    database: PostgresqlServer, target: str, servers: list[ServerProcess]
) -> None:
    """Until they do."""
    wait_until(lambda: are_spread(database, target, servers), "jobs spread")


def listed(server: ServerProcess) -> int:
    """How many jobs a server lists that some server leads."""
    found, token = 0, ""
    while True:
        page = server.stub.ListJobs(api.ListJobsRequest(page_token=token))
        found += len(page.jobs) + sum(bool(at.address) for at in page.led_elsewhere)
        token = page.next_page_token
        if not token:
            return found


def await_listed(servers: list[ServerProcess], count: int) -> None:
    """Until every server lists all jobs, each with who leads it."""
    wait_until(
        lambda: all(listed(server) == count for server in servers), "all jobs listed"
    )


def seconds_since(start: float) -> float:
    """Rounded for people."""
    return round(time.monotonic() - start, 3)


def measure_idle(
    count: int, options: argparse.Namespace, stores: Stores
) -> dict[str, Any]:
    """Many jobs on so many servers, one more, and all of them anew."""
    line: dict[str, Any] = {"bench": "idle", "servers": count, "jobs": options.jobs}
    with (
        stores.make("postgresql") as store,
        start_servers(count, store) as servers,
    ):
        start = time.monotonic()
        create_jobs(servers, options.jobs)
        await_listed(servers, options.jobs)
        line["seconds_to_create"] = seconds_since(start)
        watch = Watch(servers, stores)
        time.sleep(options.seconds)
        line["processors"] = watch.shares()
        start = time.monotonic()
        with start_servers(1, store) as more:
            line["seconds_until_one_more_serves"] = seconds_since(start)
            every = [*servers, *more]
            await_spread(stores.database, store, every)
            await_listed(every, options.jobs)
            line["seconds_to_spread"] = seconds_since(start)
            for server in every:
                server.kill()
        start = time.monotonic()
        with start_servers(count, store) as again:
            await_spread(stores.database, store, again)
            await_listed(again, options.jobs)
            line["seconds_after_a_kill"] = seconds_since(start)
    return line


def main() -> None:
    """The program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True, dest="command")
    traffic = commands.add_parser("traffic")
    traffic.add_argument("--rounds", type=int, default=5)
    traffic.add_argument("--jobs", type=int, default=12)
    traffic.add_argument("--under-way", type=int, default=16, help="messages of a job")
    traffic.add_argument("--seconds", type=int, default=4)
    idle = commands.add_parser("idle")
    idle.add_argument("--jobs", type=int, default=1000)
    idle.add_argument("--seconds", type=int, default=5)
    for command in (traffic, idle):
        command.add_argument("--servers", type=int, default=3, help="at most")
    options = parser.parse_args()
    with (
        PostgresqlServer(durable=True) as database,
        tempfile.TemporaryDirectory() as folder,
    ):
        database.start()
        stores = Stores(database, Path(folder))
        if options.command == "traffic":
            compare_traffic(options, stores)
        else:
            for count in range(1, options.servers + 1):
                print(json.dumps(measure_idle(count, options, stores)), flush=True)


if __name__ == "__main__":
    main()
