#include "server/store/postgresql_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/store/lossy_link.h"
#include "tests/server/store/scratch_postgresql.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr milliseconds kLong{30'000};

class PostgresqlConnectionTest : public ::testing::Test {
 protected:
  static PostgresqlConnection Open(const std::string& target) {
    return PostgresqlConnection::Open(target, kLong).value();
  }

  ScratchPostgresql schema_;
  PostgresqlConnection connection_ = Open(schema_.target());
};

TEST_F(PostgresqlConnectionTest, ValuesComeBackAsTheyWere) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  const auto rows = connection_.Ask("SELECT $1::bigint, $2::bytea, $3::text, $4::bytea",
                                    PostgresqlValues()
                                        .Add(std::numeric_limits<int64_t>::min())
                                        .Add(bytes)
                                        .Add(std::string_view("ä"))
                                        .Add(std::string_view()));
  ASSERT_THAT(rows, IsOk());
  ASSERT_EQ(rows->size(), 1);
  EXPECT_EQ(rows->Integer(0, 0), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(rows->Bytes(0, 1), bytes);
  EXPECT_EQ(rows->Bytes(0, 2), "ä");
  EXPECT_EQ(rows->Bytes(0, 3), "");
}

TEST_F(PostgresqlConnectionTest, ArraysHaveAnyNumberOfElements) {
  for (const size_t size : {0U, 1U, 1000U}) {
    std::vector<int64_t> numbers(size);
    std::vector<std::string> texts(size);
    for (size_t i = 0; i < size; ++i) {
      numbers[i] = static_cast<int64_t>(i) - 5;
      texts[i] = std::string(i % 3, 'x');
    }
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    const auto rows =
        connection_.Ask("SELECT * FROM unnest($1::bigint[], $2::bytea[])",
                        PostgresqlValues()
                            .Add(std::span<const int64_t>(numbers))
                            .Add(std::span<const std::string_view>(views)));
    ASSERT_THAT(rows, IsOk());
    ASSERT_EQ(rows->size(), static_cast<int>(size));
    for (size_t i = 0; i < size; ++i) {
      EXPECT_EQ(rows->Integer(static_cast<int>(i), 0), numbers[i]);
      EXPECT_EQ(rows->Bytes(static_cast<int>(i), 1), texts[i]);
    }
  }
}

TEST_F(PostgresqlConnectionTest, AnExchangeGivesTheRowsOfEachStatement) {
  connection_.Queue("SELECT $1::bigint", PostgresqlValues().Add(int64_t{1}));
  connection_.Queue("SELECT $1::bigint", PostgresqlValues().Add(int64_t{2}));
  connection_.Queue("CREATE TABLE t (x bigint)");
  connection_.Queue("SELECT 3::bigint, 4::bigint");
  const auto rows = connection_.Exchange();
  ASSERT_THAT(rows, IsOk());
  ASSERT_EQ(rows->size(), 4U);
  EXPECT_EQ((*rows)[0].Integer(0, 0), 1);
  EXPECT_EQ((*rows)[1].Integer(0, 0), 2);
  EXPECT_EQ((*rows)[2].size(), 0);
  EXPECT_EQ((*rows)[3].Integer(0, 1), 4);
}

TEST_F(PostgresqlConnectionTest, AfterAnErrorNothingMoreOfAnExchangeIsCarriedOut) {
  ASSERT_THAT(connection_.Run("CREATE TABLE t (x bigint)"), IsOk());
  // Both statements are prepared by the first exchange, or not at all.
  for (int attempt = 0; attempt < 2; ++attempt) {
    connection_.Queue("BEGIN");
    connection_.Queue("INSERT INTO t VALUES (1)");
    connection_.Queue("SELECT 1 / $1::bigint", PostgresqlValues().Add(int64_t{0}));
    connection_.Queue("INSERT INTO t VALUES (2)");
    connection_.Queue("COMMIT");
    EXPECT_THAT(connection_.Exchange(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("division by zero (SQLSTATE 22012)")));
    EXPECT_FALSE(connection_.broken());
    ASSERT_THAT(connection_.Run("ROLLBACK"), IsOk());
    EXPECT_EQ(connection_.Ask("SELECT count(*) FROM t")->Integer(0, 0), 0);
  }
  connection_.Queue("INSERT INTO t VALUES (2)");
  EXPECT_THAT(connection_.Exchange(), IsOk());
  EXPECT_EQ(connection_.Ask("SELECT count(*) FROM t")->Integer(0, 0), 1);
}

TEST_F(PostgresqlConnectionTest, MoreThanBuffersHoldGoesBothWays) {
  const std::string large(std::size_t{24} << 20, 'x');
  for (int i = 0; i < 2; ++i) {
    connection_.Queue("SELECT $1::bytea", PostgresqlValues().Add(large));
  }
  const auto rows = connection_.Exchange();
  ASSERT_THAT(rows, IsOk());
  EXPECT_EQ((*rows)[1].Bytes(0, 0), large);
}

TEST_F(PostgresqlConnectionTest, ALostConnectionIsToldAndStaysBroken) {
  const int64_t process =
      connection_.Ask("SELECT pg_backend_pid()::bigint")->Integer(0, 0);
  schema_.Run(absl::StrCat("SELECT pg_terminate_backend(", process, ")"));
  absl::Status status;
  // The end takes a moment to arrive.
  while (status.ok()) status = connection_.Ask("SELECT 1").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(connection_.broken());
  EXPECT_EQ(connection_.Ask("SELECT 1").status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(connection_.Run("SELECT 1").code(), absl::StatusCode::kUnavailable);
}

TEST_F(PostgresqlConnectionTest, ASilentDatabaseIsGivenUp) {
  PostgresqlConnection impatient =
      PostgresqlConnection::Open(schema_.target(), milliseconds(100)).value();
  EXPECT_THAT(impatient.Ask("SELECT pg_sleep(30)"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no answer in time")));
  EXPECT_TRUE(impatient.broken());
}

TEST_F(PostgresqlConnectionTest, WhoCanNotBeReachedIsNamed) {
  LossyLink nobody(1);
  const auto opened =
      PostgresqlConnection::Open(schema_.TargetAt(nobody.port()), kLong);
  EXPECT_THAT(opened.status(), StatusIs(absl::StatusCode::kUnavailable,
                                        HasSubstr(absl::StrCat(nobody.port()))));
}

}  // namespace
}  // namespace evenpack::testing
