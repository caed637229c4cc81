"""Servers in network namespaces of their own, whose links are cut.

Each server reaches the database by one link and its clients by another, and no server
reaches another one: they have nothing to tell each other. A leader that is cut off from
the database is followed by another; one that clients can't reach stays; once links work
again there is one history, which is the one of a server without faults.
  partition_test.py [--distance]
--distance: links are slow and lose packets, in place of cuts. Exit status 77 where
namespaces can't be made, or their links disturbed, which it then says.
"""

from __future__ import annotations

import argparse
import sys
import time
import unittest

from child_process import wait_until
from network_namespace import Link, NetworkNamespace, enter_own_network, why_not
from postgresql_server import USER, PostgresqlServer
from server_process import ServerProcess
from sharing_case import FAIL_OVER, FLAGS, SharingCase

SERVERS = 3
NETWORK = "10.213.0.0/16"
SKIPPED = 77
# A link between towns, that loses what it carries now and then.
DISTANCE = ("delay", "20ms", "5ms", "loss", "1%")


class PartitionTest(SharingCase):
    def setUp(self) -> None:
        super().setUp()
        self.database = PostgresqlServer(durable=False, network=NETWORK)
        self.enterContext(self.database)
        self.database.start()
        self.took: list[float] = []
        # By server.
        self.to_database: list[Link] = []
        self.to_clients: list[Link] = []
        for place in range(SERVERS):
            namespace = self.enterContext(NetworkNamespace())
            self.to_database.append(namespace.link(2 * place + 1))
            self.to_clients.append(namespace.link(2 * place + 2))
            where = f"{self.to_database[-1].near}:{self.database.port}"
            server = ServerProcess(
                "--store",
                f"postgresql://{USER}@{where}/postgres",
                "--insecure",
                *FLAGS,
                listen=f"{self.to_clients[-1].far}:0",
                http_listen="",
                enter=namespace.enter,
            )
            self.servers.append(self.enterContext(server))
        self.create_jobs()

    def leading(self) -> tuple[int, list[str]]:
        """A server that leads, and what."""
        places = self.places()
        address = places[self.random.choice(sorted(places))]
        [place] = [
            place
            for place, server in enumerate(self.servers)
            if server.grpc_address == address
        ]
        return place, [job for job, at in places.items() if at == address]

    def jobs_of(self, address: str) -> int:
        """How many jobs a server leads, as the database has it."""
        led = self.database.sql(
            "SELECT count(*) FROM evenpack_leases JOIN evenpack_servers "
            f"USING (server) WHERE address = '{address}'"
        )
        return int(led)

    def cut_off_from_database(self) -> None:
        """One that leads; others follow it while it believes that it leads."""
        self.make_progress()
        place, jobs = self.leading()
        victim = self.servers[place].grpc_address
        since = time.monotonic()
        self.to_database[place].cut()
        # It does not know yet, and tells of what it has.
        wait_until(lambda: self.jobs_of(victim) == 0, f"{jobs} elsewhere")
        self.took.append(time.monotonic() - since)
        self.assertLess(self.took[-1], FAIL_OVER)
        self.make_progress()
        self.to_database[place].heal()

    def cut_off_from_clients(self) -> None:
        """One that leads; it stays, and is found again."""
        self.make_progress()
        place, jobs = self.leading()
        self.to_clients[place].cut()
        cut_off = {job: self.clients.pop(job) for job in jobs}
        # All others go on meanwhile.
        self.make_progress()
        self.assertEqual(self.jobs_of(self.servers[place].grpc_address), len(jobs))
        self.to_clients[place].heal()
        self.clients.update(cut_off)

    def test_there_is_one_history_whatever_link_is_cut(self) -> None:
        self.begin(6)
        self.cut_off_from_database()
        self.cut_off_from_clients()
        self.cut_off_from_database()
        self.make_progress()
        self.finish()
        print(f"led elsewhere after {', '.join(f'{each:.1f} s' for each in self.took)}")

    def test_distance_and_loss_change_nothing(self) -> None:
        for link in [*self.to_database, *self.to_clients]:
            link.disturb(*DISTANCE)
        self.begin(3)
        for _ in range(3):
            self.make_progress()
        self.finish()


def main() -> None:
    """The program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--distance", action="store_true")
    options, rest = parser.parse_known_args()
    missing = why_not(disturbed=options.distance)
    if missing is not None:
        print(f"skipped: network namespaces can't be made so here: {missing}")
        sys.exit(SKIPPED)
    enter_own_network()
    name = "distance_and_loss" if options.distance else "whatever_link"
    unittest.main(argv=[sys.argv[0], "-k", name, *rest])


if __name__ == "__main__":
    main()
