"""What the database itself notes of who wrote which record under which lease."""

from __future__ import annotations

from dataclasses import dataclass

from postgresql_server import PostgresqlServer

# In the transaction that writes, so that nothing comes between.
_SETUP = """
    CREATE TABLE audit (
      number bigserial PRIMARY KEY, job bigint, place bigint, writer text,
      leader text, epoch bigint, at timestamptz);
    CREATE FUNCTION audit_record() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO audit (job, place, writer, leader, epoch, at)
          SELECT NEW.place >> 40, NEW.place, current_setting('application_name'),
                 lease.server, lease.epoch, clock_timestamp()
            FROM (SELECT 1) AS one
            LEFT JOIN evenpack_leases AS lease ON lease.job = NEW.place >> 40;
        RETURN NEW;
      END $$;
    CREATE TRIGGER audit_record AFTER INSERT ON evenpack_records
      FOR EACH ROW EXECUTE FUNCTION audit_record();
"""
_REFUSAL = "another server leads"


@dataclass(frozen=True)
class Writing:
    """A record, and the lease under which it was written."""

    job: int
    place: int
    # The application name of the connection that wrote it.
    writer: str
    # As evenpack_servers names it.
    leader: str
    epoch: int


class LeaseAudit:
    """Begins when it is made, which is after a server has made the tables."""

    def __init__(self, database: PostgresqlServer) -> None:
        """Has the database note each record from now on."""
        self._database = database
        database.sql(_SETUP)

    def writings(self) -> list[Writing]:
        """All so far, in their order."""
        rows = self._database.sql(
            "SELECT job, place, writer, coalesce(leader, ''), coalesce(epoch, 0) "
            "FROM audit ORDER BY number"
        )
        return [
            Writing(int(job), int(place), writer, leader, int(epoch))
            for job, place, writer, leader, epoch in (
                row.split("|") for row in rows.splitlines()
            )
        ]

    def refusals(self) -> int:
        """How many transactions the database refused of servers that led no more."""
        return self._database.log().count(_REFUSAL)

    def check(self, processes: dict[str, int]) -> None:
        """Each record was written by the process that held its job's lease.

        `processes`: of each application name. A job's epochs only rise, and each has
        one writer.
        """
        epochs: dict[int, int] = {}
        writers: dict[tuple[int, int], str] = {}
        for each in self.writings():
            # Of a job that the same transaction makes there is no lease yet.
            if not each.leader:
                continue
            if f"-{processes[each.writer]}-" not in each.leader:
                raise AssertionError(f"{each}: another's lease")
            if each.epoch < epochs.get(each.job, 0):
                raise AssertionError(f"{each}: after epoch {epochs[each.job]}")
            epochs[each.job] = each.epoch
            if writers.setdefault((each.job, each.epoch), each.writer) != each.writer:
                raise AssertionError(f"{each}: a second writer in its epoch")
