"""A PostgreSQL server that follows another, and can be promoted in its place."""

from __future__ import annotations

import time

from postgresql_server import USER, PostgresqlServer

_PATIENCE_SECONDS = 30


def shared_target(*servers: PostgresqlServer) -> str:
    """What libpq takes that looks for the one that can be written."""
    places = ",".join(f"127.0.0.1:{server.port}" for server in servers)
    return f"postgresql://{USER}@{places}/postgres"


class StandbyServer(PostgresqlServer):
    """A streaming replica, asynchronous until `wait_for` is called."""

    def __init__(self, primary: PostgresqlServer, *, durable: bool = True) -> None:
        """A copy of one that runs."""
        self._primary = primary
        super().__init__(durable=durable)

    def _make_data(self) -> None:
        source = ("-h", "127.0.0.1", "-p", f"{self._primary.port}", "-U", USER)
        # With what makes it follow.
        flags = ("--write-recovery-conf", "--checkpoint=fast", "--no-sync")
        self._run("pg_basebackup", *source, *flags, "-D", str(self._data))

    def _await(self, server: PostgresqlServer, question: str) -> None:
        end = time.monotonic() + _PATIENCE_SECONDS
        while server.sql(f"SELECT {question}") != "t":
            if time.monotonic() > end:
                raise AssertionError(f"{question}: not within {_PATIENCE_SECONDS} s")
            time.sleep(0.02)

    def await_caught_up(self) -> None:
        """Waits until it has all that the other has committed so far."""
        committed = self._primary.sql("SELECT pg_current_wal_flush_lsn()")
        self._await(self, f"pg_last_wal_replay_lsn() >= '{committed}'")

    def wait_for(self) -> None:
        """From now on the other's commits wait until they are on this one's disk."""
        self._primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self._primary.sql("SELECT pg_reload_conf()")
        self._await(
            self._primary,
            "count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'",
        )

    def stop_following(self) -> None:
        """It learns nothing of the commits that come from now on."""
        self.sql("ALTER SYSTEM SET primary_conninfo = ''")
        self.sql("SELECT pg_reload_conf()")
        self._await(self._primary, "count(*) = 0 FROM pg_stat_replication")

    def promote(self) -> None:
        """It takes writes from now on."""
        self._run("pg_ctl", "promote", "--wait", "-s", "-D", str(self._data))
