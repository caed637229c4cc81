#include "server/store/postgresql_reader.h"

#include "absl/status/statusor.h"
#include "server/store/postgresql_schema.h"

namespace evenpack {

absl::Status PostgresqlReader::Read(
    absl::FunctionRef<absl::Status(PostgresqlConnection&)> read) {
  MutexLock lock(mutex_);
  if (outdated_.exchange(false)) connection_.reset();
  const bool may_be_lost = connection_.has_value();
  if (!may_be_lost) {
    if (absl::Status status = Connect(); !status.ok()) return status;
  }
  absl::Status status = read(*connection_);
  if (connection_->broken() && may_be_lost) {
    if (absl::Status connected = Connect(); !connected.ok()) return connected;
    status = read(*connection_);
  }
  if (connection_->broken()) {
    connection_.reset();
  } else if (!status.ok()) {
    connection_->Run("ROLLBACK").IgnoreError();
  }
  return status;
}

void PostgresqlReader::Close() {
  MutexLock lock(mutex_);
  connection_.reset();
}

absl::Status PostgresqlReader::Connect() {
  connection_.reset();
  absl::StatusOr<PostgresqlConnection> connection =
      PostgresqlConnection::Open(target_, patience_);
  if (!connection.ok()) return connection.status();
  if (absl::Status status = SetUpPostgresqlSession(*connection); !status.ok()) {
    return status;
  }
  connection_ = *std::move(connection);
  return absl::OkStatus();
}

}  // namespace evenpack
