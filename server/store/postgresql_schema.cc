#include "server/store/postgresql_schema.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

// A transaction whose server is gone or stopped must not hold its leases for long.
constexpr char kSession[] = R"(
    SET default_transaction_isolation = 'read committed';
    SET synchronous_commit = on;
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
    INSERT INTO evenpack_leases VALUES (0, '', 0);
)";

// The server's row is locked before leases are, here and in evenpack_take, so that
// neither waits for the other in a circle.
constexpr char kFence[] = R"(
    CREATE FUNCTION evenpack_fence(
        me text, number bigint, milliseconds bigint, wanted bigint[], epochs bigint[])
        RETURNS void LANGUAGE plpgsql AS $$
      DECLARE held bigint;
      BEGIN
        UPDATE evenpack_servers
          SET commits = greatest(commits, number),
              expires = clock_timestamp() + milliseconds * interval '1 millisecond'
          WHERE server = me;
        SELECT count(*) INTO held FROM (
          SELECT 1 FROM evenpack_leases AS lease
            JOIN unnest(wanted, epochs) AS mine(job, epoch)
              ON lease.job = mine.job AND lease.epoch = mine.epoch
            WHERE lease.server = me
            FOR NO KEY UPDATE OF lease) AS locked;
        IF held <> cardinality(wanted) THEN
          RAISE EXCEPTION 'another server leads' USING ERRCODE = 'EV001';
        END IF;
      END $$;
)";

// Takes what nobody leads. A dead server's row that is locked is one of a transaction
// that has passed the fence: it is left for the next attempt.
constexpr char kTake[] = R"(
    CREATE FUNCTION evenpack_take(me text, milliseconds bigint)
        RETURNS void LANGUAGE plpgsql AS $$
      DECLARE dead text[];
      BEGIN
        INSERT INTO evenpack_servers VALUES
            (me, clock_timestamp() + milliseconds * interval '1 millisecond', 0)
          ON CONFLICT (server) DO UPDATE SET expires = excluded.expires;
        SELECT coalesce(array_agg(server), '{}') INTO dead FROM (
          SELECT server FROM evenpack_servers
            WHERE server <> me AND expires <= clock_timestamp()
            ORDER BY server FOR UPDATE SKIP LOCKED) AS locked;
        UPDATE evenpack_leases SET server = me, epoch = epoch + 1
          WHERE server <> me
            AND (server = ANY(dead)
                 OR server NOT IN (SELECT server FROM evenpack_servers));
        DELETE FROM evenpack_servers
          WHERE server = ANY(dead)
            AND expires < clock_timestamp() - interval '1 day';
      END $$;
)";

// After a connection was lost: waits for what it had under way, and lets nothing of it
// come later. Nothing where the root's epoch is another than expected, as when this
// comes late itself, on a connection that was given up.
constexpr char kRejoin[] = R"(
    CREATE FUNCTION evenpack_rejoin(me text, milliseconds bigint, expected bigint)
        RETURNS void LANGUAGE plpgsql AS $$
      BEGIN
        UPDATE evenpack_servers
          SET expires = clock_timestamp() + milliseconds * interval '1 millisecond'
          WHERE server = me;
        IF (SELECT epoch FROM evenpack_leases WHERE job = 0 AND server = me)
            = expected THEN
          UPDATE evenpack_leases SET epoch = epoch + 1 WHERE server = me;
        END IF;
      END $$;
)";

// Any number that other programs are unlikely to lock.
constexpr char kLockTables[] = "BEGIN; SELECT pg_advisory_xact_lock(1165381739)";

absl::Status CheckFormat(PostgresqlConnection& connection) {
  const absl::StatusOr<PostgresqlRows> version =
      connection.Ask("SELECT max(version) FROM evenpack_format");
  if (!version.ok()) return version.status();
  const int64_t found = version->Integer(0, 0);
  if (found >= 1 && found <= kPostgresqlFormatVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "store: format version ", found, " is newer than this program; accepted: up to ",
      kPostgresqlFormatVersion));
}

absl::Status CreateTables(PostgresqlConnection& connection) {
  return connection.Run(absl::StrCat(kTables, kFence, kTake, kRejoin,
                                     "INSERT INTO evenpack_format VALUES (",
                                     kPostgresqlFormatVersion, ")"));
}

}  // namespace

absl::Status PreparePostgresql(PostgresqlConnection& connection) {
  absl::Status status = connection.Run(kSession);
  if (status.ok()) status = connection.Run(kLockTables);
  if (!status.ok()) return status;
  const absl::StatusOr<PostgresqlRows> tables = connection.Ask(
      "SELECT count(*) FROM pg_class WHERE oid = to_regclass('evenpack_format')");
  status = tables.status();
  if (status.ok()) {
    status =
        tables->Integer(0, 0) == 0 ? CreateTables(connection) : CheckFormat(connection);
  }
  if (status.ok()) return connection.Run("COMMIT");
  if (!connection.broken()) connection.Run("ROLLBACK").IgnoreError();
  return status;
}

}  // namespace evenpack
