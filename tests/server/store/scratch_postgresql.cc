#include "tests/server/store/scratch_postgresql.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace evenpack::testing {
namespace {

constexpr std::chrono::milliseconds kPatienceOfTests{30'000};

std::string ServerTarget() {
  const char* const file = std::getenv("EVENPACK_POSTGRESQL_TARGET_FILE");
  std::ostringstream target;
  if (file != nullptr) target << std::ifstream(file).rdbuf();
  EXPECT_FALSE(target.str().empty())
      << "EVENPACK_POSTGRESQL_TARGET_FILE names no file of "
         "tests/testing/postgresql_server.py; run by ctest, it does";
  return target.str();
}

}  // namespace

ScratchPostgresql::ScratchPostgresql() : server_(ServerTarget()) {
  static std::atomic<int> made = 0;
  schema_ = absl::StrCat("test_", getpid(), "_", ++made);
  // A machine that runs many tests at once may be slow to take a connection.
  target_ = absl::StrCat(server_, "?options=-csearch_path%3D", schema_,
                         "&application_name=", schema_, "&connect_timeout=30");
  Run(absl::StrCat("DROP SCHEMA IF EXISTS ", schema_, " CASCADE; CREATE SCHEMA ",
                   schema_));
}

ScratchPostgresql::~ScratchPostgresql() {
  Run(absl::StrCat("DROP SCHEMA ", schema_, " CASCADE"));
}

int ScratchPostgresql::port() const {
  const size_t colon = server_.rfind(':');
  return std::stoi(server_.substr(colon + 1));
}

std::string ScratchPostgresql::TargetAt(int other_port) const {
  return absl::StrReplaceAll(
      target_, {{absl::StrCat(":", port(), "/"), absl::StrCat(":", other_port, "/")}});
}

PostgresqlConnection ScratchPostgresql::Connect() const {
  return PostgresqlConnection::Open(target_, kPatienceOfTests).value();
}

void ScratchPostgresql::Run(const std::string& statements) const {
  PostgresqlConnection connection = Connect();
  const absl::Status status = connection.Run(statements);
  EXPECT_TRUE(status.ok()) << status;
}

int64_t ScratchPostgresql::Number(const std::string& statement) const {
  PostgresqlConnection connection = Connect();
  return connection.Ask(statement).value().Integer(0, 0);
}

}  // namespace evenpack::testing
