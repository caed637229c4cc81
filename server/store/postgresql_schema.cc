#include "server/store/postgresql_schema.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

// A transaction whose server is gone or stopped must not hold its leases for long. Each
// statement finds its rows by their keys, whatever its parameters: planned once, and by
// the index also where a table is small enough that reading all of it would seem
// cheaper.
constexpr char kSession[] = R"(
    SET default_transaction_isolation = 'read committed';
    SET synchronous_commit = on;
    SET plan_cache_mode = force_generic_plan;
    SET random_page_cost = 1;
    SET statement_timeout = '5s';
    SET lock_timeout = '3s';
    SET idle_in_transaction_session_timeout = '2s';
    SET tcp_keepalives_idle = 2;
    SET tcp_keepalives_interval = 1;
    SET tcp_keepalives_count = 3;
    SET tcp_user_timeout = '5s';
)";

// Bytes are digests and packed integers: compressing them would only cost time.
constexpr char kTables[] = R"(
    CREATE TABLE evenpack_format (version bigint NOT NULL);
    CREATE SEQUENCE evenpack_job_ids;
    CREATE TABLE evenpack_jobs (
      id bigint PRIMARY KEY,
      name text NOT NULL UNIQUE,
      checksum bytea NOT NULL
    );
    CREATE TABLE evenpack_snapshots (
      job bigint PRIMARY KEY,
      records bigint NOT NULL,
      bytes bytea NOT NULL,
      checksum bytea NOT NULL
    );
    CREATE TABLE evenpack_records (
      place bigint PRIMARY KEY,
      bytes bytea NOT NULL,
      checksum bytea NOT NULL
    );
    CREATE TABLE evenpack_profiles (
      name text PRIMARY KEY,
      bytes bytea NOT NULL,
      checksum bytea NOT NULL
    );
    CREATE TABLE evenpack_tokens (
      job bigint NOT NULL,
      stream bigint NOT NULL,
      first bigint NOT NULL,
      bytes bytea NOT NULL,
      checksum bytea NOT NULL,
      PRIMARY KEY (job, stream, first)
    );
    ALTER TABLE evenpack_snapshots ALTER bytes SET STORAGE EXTERNAL;
    ALTER TABLE evenpack_records ALTER bytes SET STORAGE EXTERNAL;
    ALTER TABLE evenpack_profiles ALTER bytes SET STORAGE EXTERNAL;
    ALTER TABLE evenpack_tokens ALTER bytes SET STORAGE EXTERNAL;
    CREATE TABLE evenpack_servers (
      server text PRIMARY KEY,
      expires timestamptz NOT NULL,
      commits bigint NOT NULL
    ) WITH (fillfactor = 10);
    CREATE TABLE evenpack_leases (
      job bigint PRIMARY KEY,
      server text NOT NULL,
      epoch bigint NOT NULL
    ) WITH (fillfactor = 50);
)";

// What format 2 adds, also to tables that a server of format 1 may still write. Its
// transactions under way are awaited by ALTER TABLE. Those that come later have no
// lease of the epoch that they name, and call functions that refuse them or that there
// are no more: EV001 makes such a server drain and end.
constexpr char kLeaseForEachJob[] = R"(
    ALTER TABLE evenpack_servers
      ADD session bigint NOT NULL DEFAULT 0,
      ADD address text NOT NULL DEFAULT '',
      ADD takes boolean NOT NULL DEFAULT false,
      ADD heard_since timestamptz NOT NULL DEFAULT '-infinity';
    DELETE FROM evenpack_servers;
    DELETE FROM evenpack_leases WHERE job = 0;
    UPDATE evenpack_leases SET server = '', epoch = epoch + 1;
    CREATE TABLE evenpack_profile_changes (version bigint NOT NULL);
    INSERT INTO evenpack_profile_changes VALUES (0);
    DROP FUNCTION IF EXISTS evenpack_take(text, bigint);
    DROP FUNCTION IF EXISTS evenpack_rejoin(text, bigint, bigint);
    CREATE OR REPLACE FUNCTION evenpack_fence(
        me text, number bigint, milliseconds bigint, wanted bigint[], epochs bigint[])
        RETURNS void LANGUAGE plpgsql AS $$
      BEGIN
        RAISE EXCEPTION 'the format is newer' USING ERRCODE = 'EV001';
      END $$;
)";

// First in each transaction of a server, and a sign of life. The server's row is locked
// before leases are, so that no two wait for each other in a circle. Between two signs
// of one that lives lies less than two thirds of a lease: where it was more, the
// database or the server stood still.
constexpr char kEnter[] = R"(
    CREATE FUNCTION evenpack_enter(
        me text, my_session bigint, number bigint, milliseconds bigint,
        wanted bigint[], wanted_epochs bigint[])
        RETURNS void LANGUAGE plpgsql AS $$
      DECLARE held bigint;
      BEGIN
        UPDATE evenpack_servers
          SET commits = greatest(commits, number),
              expires = clock_timestamp() + milliseconds * interval '1 millisecond',
              heard_since =
                CASE WHEN expires < clock_timestamp()
                                    + milliseconds / 3 * interval '1 millisecond'
                  THEN clock_timestamp() ELSE heard_since END
          WHERE server = me AND session = my_session;
        IF NOT FOUND THEN
          RAISE EXCEPTION 'this server is forgotten' USING ERRCODE = 'EV002';
        END IF;
        IF cardinality(wanted) = 0 THEN RETURN; END IF;
        SELECT count(*) INTO held FROM (
          SELECT 1 FROM evenpack_leases AS lease
            JOIN unnest(wanted, wanted_epochs) AS mine(job, epoch)
              ON lease.job = mine.job AND lease.epoch = mine.epoch
            WHERE lease.server = me
            FOR NO KEY UPDATE OF lease) AS locked;
        IF held <> cardinality(wanted) THEN
          RAISE EXCEPTION 'another server leads' USING ERRCODE = 'EV001';
        END IF;
      END $$;
)";

// Makes a job that the caller leads.
constexpr char kMake[] = R"(
    CREATE FUNCTION evenpack_make(
        me text, made bigint, made_name text, made_checksum bytea)
        RETURNS void LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO evenpack_jobs VALUES (made, made_name, made_checksum)
          ON CONFLICT (name) DO NOTHING;
        IF NOT FOUND THEN
          RAISE EXCEPTION '%', made_name USING ERRCODE = 'EV003';
        END IF;
        INSERT INTO evenpack_leases VALUES (made, me, 1);
      END $$;
)";

// Takes jobs that nobody leads, at most so many. Of a dead server whose row is locked
// some transaction has passed evenpack_enter: it is left for the next attempt. Who was
// silent a moment ago can't tell the dead from those who were as silent, and gives them
// time. All conditions on a lease are on its row alone, so that they hold for the row
// that is locked and not for an older one.
constexpr char kClaim[] = R"(
    CREATE FUNCTION evenpack_claim(
        me text, my_session bigint, milliseconds bigint, most bigint)
        RETURNS void LANGUAGE plpgsql AS $$
      DECLARE dead text[];
      BEGIN
        PERFORM evenpack_enter(me, my_session, 0, milliseconds, '{}', '{}');
        SELECT coalesce(array_agg(server), '{}') INTO dead FROM (
          SELECT server FROM evenpack_servers
            WHERE server <> me AND expires <= clock_timestamp()
            ORDER BY server FOR SHARE SKIP LOCKED) AS locked;
        IF (SELECT heard_since FROM evenpack_servers WHERE server = me)
            > clock_timestamp() - milliseconds / 2 * interval '1 millisecond' THEN
          dead := '{}';
        END IF;
        UPDATE evenpack_leases SET server = me, epoch = epoch + 1
          WHERE job IN (
            SELECT job FROM evenpack_leases
              WHERE server = '' OR server = ANY(dead)
              ORDER BY job LIMIT most FOR UPDATE SKIP LOCKED);
        DELETE FROM evenpack_servers
          WHERE server = ANY(dead)
            AND expires < clock_timestamp() - interval '1 day'
            AND server NOT IN (SELECT server FROM evenpack_leases);
      END $$;
)";

// Gives a lease that the caller has locked to the server that leads the fewest; the
// address of that, or nothing where there is none. Its row is locked so that it can't
// leave meanwhile, by a lock that its own transactions don't wait for.
constexpr char kGive[] = R"(
    CREATE FUNCTION evenpack_give(me text, given bigint)
        RETURNS SETOF text LANGUAGE plpgsql AS $$
      DECLARE taker record;
      BEGIN
        SELECT servers.server, servers.address INTO taker
          FROM evenpack_servers AS servers
          WHERE servers.server <> me AND servers.takes
            AND servers.expires > clock_timestamp()
          ORDER BY (SELECT count(*) FROM evenpack_leases AS leases
                      WHERE leases.server = servers.server), servers.server
          LIMIT 1 FOR KEY SHARE OF servers;
        IF FOUND THEN
          UPDATE evenpack_leases SET server = taker.server, epoch = epoch + 1
            WHERE job = given;
          RETURN NEXT taker.address;
        END IF;
      END $$;
)";

// Who leads each job; `server` may be dead.
constexpr char kPlaces[] = R"(
    CREATE VIEW evenpack_places AS
      SELECT jobs.name, leases.server, coalesce(servers.address, '') AS address,
             coalesce(servers.expires > clock_timestamp(), false) AS lives
        FROM evenpack_jobs AS jobs JOIN evenpack_leases AS leases ON leases.job = jobs.id
          LEFT JOIN evenpack_servers AS servers ON servers.server = leases.server;
)";

// Any number that other programs are unlikely to lock.
constexpr char kLockTables[] = "BEGIN; SELECT pg_advisory_xact_lock(1165381739)";

// 0 where there are no tables.
absl::StatusOr<int64_t> FormatVersion(PostgresqlConnection& connection) {
  const absl::StatusOr<PostgresqlRows> tables = connection.Ask(
      "SELECT count(*) FROM pg_class WHERE oid = to_regclass('evenpack_format')");
  if (!tables.ok()) return tables.status();
  if (tables->Integer(0, 0) == 0) return 0;
  const absl::StatusOr<PostgresqlRows> version =
      connection.Ask("SELECT max(version) FROM evenpack_format");
  if (!version.ok()) return version.status();
  const int64_t found = version->Integer(0, 0);
  if (found >= 1 && found <= kPostgresqlFormatVersion) return found;
  return absl::FailedPreconditionError(absl::StrCat(
      "store: format version ", found, " is newer than this program; accepted: up to ",
      kPostgresqlFormatVersion));
}

absl::Status Migrate(int64_t from, PostgresqlConnection& connection) {
  if (from == kPostgresqlFormatVersion) return absl::OkStatus();
  return connection.Run(absl::StrCat(
      from == 0 ? kTables : "", kLeaseForEachJob, kEnter, kMake, kClaim, kGive, kPlaces,
      "DELETE FROM evenpack_format; INSERT INTO evenpack_format VALUES (",
      kPostgresqlFormatVersion, ")"));
}

}  // namespace

absl::Status SetUpPostgresqlSession(PostgresqlConnection& connection) {
  return connection.Run(kSession);
}

absl::Status PreparePostgresql(PostgresqlConnection& connection) {
  absl::Status status = SetUpPostgresqlSession(connection);
  if (status.ok()) status = connection.Run(kLockTables);
  if (!status.ok()) return status;
  const absl::StatusOr<int64_t> version = FormatVersion(connection);
  status = version.ok() ? Migrate(*version, connection) : version.status();
  if (status.ok()) return connection.Run("COMMIT");
  if (!connection.broken()) connection.Run("ROLLBACK").IgnoreError();
  return status;
}

}  // namespace evenpack
