#include "server/store/postgresql_connection.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/store/postgresql_error.h"
#include "server/store/postgresql_target.h"

namespace evenpack {
namespace {

// Object identifiers of types, which never change (PostgreSQL's pg_type.dat).
constexpr uint32_t kBigintType = 20;
constexpr uint32_t kByteaType = 17;
constexpr int kBinary = 1;

void AppendBigEndian(uint64_t value, int bytes, std::string& to) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    to.push_back(static_cast<char>(value >> shift & 0xff));
  }
}

// PostgreSQL's array_send: one dimension, no nulls, numbered from 1.
std::string ArrayHead(uint32_t type, size_t size) {
  std::string head;
  AppendBigEndian(size == 0 ? 0 : 1, 4, head);
  AppendBigEndian(0, 4, head);
  AppendBigEndian(type, 4, head);
  if (size == 0) return head;
  AppendBigEndian(size, 4, head);
  AppendBigEndian(1, 4, head);
  return head;
}

absl::Status StatusOf(const pg_result* result) {
  switch (PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_EMPTY_QUERY:
      return absl::OkStatus();
    case PGRES_PIPELINE_ABORTED:
      return absl::InternalError("store: an earlier statement failed");
    default:
      break;
  }
  const char* const code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* const message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  return PostgresqlError(code == nullptr ? "" : code,
                         message == nullptr ? "no answer" : message);
}

}  // namespace

PostgresqlValues& PostgresqlValues::Add(int64_t value) {
  AppendBigEndian(static_cast<uint64_t>(value), 8, values_.emplace_back());
  return *this;
}

PostgresqlValues& PostgresqlValues::Add(std::string_view bytes) {
  values_.emplace_back(bytes);
  return *this;
}

PostgresqlValues& PostgresqlValues::Add(std::span<const int64_t> values) {
  std::string& array = values_.emplace_back(ArrayHead(kBigintType, values.size()));
  for (const int64_t value : values) {
    AppendBigEndian(8, 4, array);
    AppendBigEndian(static_cast<uint64_t>(value), 8, array);
  }
  return *this;
}

PostgresqlValues& PostgresqlValues::Add(std::span<const std::string_view> values) {
  std::string& array = values_.emplace_back(ArrayHead(kByteaType, values.size()));
  for (const std::string_view value : values) {
    AppendBigEndian(value.size(), 4, array);
    array.append(value);
  }
  return *this;
}

void PostgresqlRows::Clear::operator()(pg_result* result) const { PQclear(result); }

int PostgresqlRows::size() const { return PQntuples(result_.get()); }

int64_t PostgresqlRows::Integer(int row, int column) const {
  uint64_t value = 0;
  for (const char byte : Bytes(row, column)) {
    value = value << 8 | static_cast<unsigned char>(byte);
  }
  return static_cast<int64_t>(value);
}

std::string_view PostgresqlRows::Bytes(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<size_t>(PQgetlength(result_.get(), row, column))};
}

void PostgresqlConnection::Close::operator()(pg_conn* connection) const {
  PQfinish(connection);
}

absl::StatusOr<PostgresqlConnection> PostgresqlConnection::Open(
    const std::string& target, std::chrono::milliseconds patience) {
  const PostgresqlParameters parameters = ConnectionParameters(target);
  std::vector<const char*> names;
  std::vector<const char*> values;
  for (const auto& [name, value] : parameters) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  PostgresqlConnection connection(patience);
  connection.connection_.reset(PQconnectdbParams(names.data(), values.data(), 1));
  pg_conn* const opened = connection.connection_.get();
  if (PQstatus(opened) != CONNECTION_OK) {
    return absl::UnavailableError(
        absl::StrCat("store: the database can't be reached: ",
                     std::string(absl::StripAsciiWhitespace(PQerrorMessage(opened)))));
  }
  // A line for each of the database's notices would be no line of this program's log.
  PQsetNoticeReceiver(
      opened, [](void*, const pg_result*) {}, nullptr);
  if (PQsetnonblocking(opened, 1) != 0) return connection.Broken("can't be set up");
  return connection;
}

absl::Status PostgresqlConnection::Run(const std::string& statements) {
  if (broken_) return Broken("is lost");
  if (PQsendQuery(connection_.get(), statements.c_str()) != 1) {
    return Broken("takes no statement");
  }
  absl::Status first;
  while (true) {
    absl::StatusOr<PostgresqlRows> answer = Next();
    if (!answer.ok()) return answer.status();
    if (answer->result_ == nullptr) return first;
    absl::Status status = StatusOf(answer->result_.get());
    if (first.ok()) first = std::move(status);
  }
}

absl::StatusOr<PostgresqlRows> PostgresqlConnection::Ask(
    std::string_view statement, const PostgresqlValues& values) {
  Queue(statement, values);
  absl::StatusOr<std::vector<PostgresqlRows>> rows = Exchange();
  if (!rows.ok()) return rows.status();
  return std::move(rows->front());
}

void PostgresqlConnection::Queue(std::string_view statement, PostgresqlValues values) {
  queue_.push_back({statement, std::move(values)});
}

absl::StatusOr<std::vector<PostgresqlRows>> PostgresqlConnection::Exchange() {
  std::vector<Queued> queued;
  queued.swap(queue_);
  const std::chrono::milliseconds patience = patience_;
  patience_ = std::max(patience_, std::exchange(allowed_, {}));
  absl::StatusOr<std::vector<PostgresqlRows>> rows = Exchange(queued);
  patience_ = patience;
  return rows;
}

absl::StatusOr<std::vector<PostgresqlRows>> PostgresqlConnection::Exchange(
    const std::vector<Queued>& queued) {
  if (broken_) return Broken("is lost");
  if (PQenterPipelineMode(connection_.get()) != 1) return Broken("has no pipeline");
  std::vector<Sent> sent;
  for (const Queued& each : queued) {
    if (absl::Status status = Send(each, sent); !status.ok()) return status;
  }
  if (PQpipelineSync(connection_.get()) != 1) return Broken("takes no statement");
  absl::StatusOr<std::vector<PostgresqlRows>> rows = Gather(sent);
  if (!broken_ && PQexitPipelineMode(connection_.get()) != 1) {
    return Broken("has more answers than questions");
  }
  return rows;
}

absl::Status PostgresqlConnection::Send(const Queued& queued, std::vector<Sent>& sent) {
  pg_conn* const connection = connection_.get();
  const auto [found, is_new] = prepared_.try_emplace(queued.statement);
  Prepared& prepared = found->second;
  if (is_new) prepared.name = absl::StrCat("evenpack_", prepared_.size());
  // Where it comes again in the same exchange it is known by then, or all has failed.
  const bool is_sent = std::any_of(sent.begin(), sent.end(), [&](const Sent& each) {
    return each.prepares == &prepared;
  });
  if (!prepared.known && !is_sent) {
    if (PQsendPrepare(connection, prepared.name.c_str(),
                      std::string(queued.statement).c_str(), 0, nullptr) != 1) {
      return Broken("takes no statement");
    }
    sent.push_back({&prepared});
  }
  const std::vector<std::string>& values = queued.values.values_;
  std::vector<const char*> pointers;
  std::vector<int> lengths;
  for (const std::string& value : values) {
    pointers.push_back(value.data());
    lengths.push_back(static_cast<int>(value.size()));
  }
  const std::vector<int> formats(values.size(), kBinary);
  if (PQsendQueryPrepared(connection, prepared.name.c_str(),
                          static_cast<int>(values.size()), pointers.data(),
                          lengths.data(), formats.data(), kBinary) != 1) {
    return Broken("takes no statement");
  }
  sent.push_back({});
  return absl::OkStatus();
}

absl::StatusOr<std::vector<PostgresqlRows>> PostgresqlConnection::Gather(
    const std::vector<Sent>& sent) {
  std::vector<PostgresqlRows> rows;
  absl::Status first;
  for (const Sent& each : sent) {
    absl::StatusOr<PostgresqlRows> answer = Next();
    if (!answer.ok()) return answer.status();
    absl::Status status = StatusOf(answer->result_.get());
    if (status.ok() && each.prepares != nullptr) each.prepares->known = true;
    if (status.ok() && each.prepares == nullptr) rows.push_back(*std::move(answer));
    if (first.ok()) first = std::move(status);
    // Each statement's answer ends with a null.
    const absl::StatusOr<PostgresqlRows> end = Next();
    if (!end.ok()) return end.status();
  }
  // The answer to the pipeline's end.
  const absl::StatusOr<PostgresqlRows> end = Next();
  if (!end.ok()) return end.status();
  if (!first.ok()) return first;
  return rows;
}

absl::StatusOr<PostgresqlRows> PostgresqlConnection::Next() {
  if (absl::Status status = AwaitAnswer(); !status.ok()) return status;
  PostgresqlRows rows;
  rows.result_.reset(PQgetResult(connection_.get()));
  // A connection that ends tells its end like a statement's error.
  if (PQstatus(connection_.get()) == CONNECTION_BAD) return Broken("is lost");
  return rows;
}

absl::Status PostgresqlConnection::AwaitAnswer() {
  pg_conn* const connection = connection_.get();
  while (true) {
    const int unsent = PQflush(connection);
    if (unsent < 0) return Broken("is lost");
    if (PQisBusy(connection) == 0) return absl::OkStatus();
    pollfd socket = {.fd = PQsocket(connection), .events = POLLIN, .revents = 0};
    if (unsent > 0) socket.events |= POLLOUT;
    const int ready = poll(&socket, 1, static_cast<int>(patience_.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return Broken("has brought no answer in time");
    if ((socket.revents & ~POLLOUT) != 0 && PQconsumeInput(connection) != 1) {
      return Broken("is lost");
    }
  }
}

absl::Status PostgresqlConnection::Broken(std::string_view what) {
  broken_ = true;
  const std::string reason(
      absl::StripAsciiWhitespace(PQerrorMessage(connection_.get())));
  return absl::UnavailableError(absl::StrCat("store: the connection to the database ",
                                             std::string(what),
                                             reason.empty() ? "" : ": ", reason));
}

}  // namespace evenpack
