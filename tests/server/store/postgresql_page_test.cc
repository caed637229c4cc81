#include "server/store/postgresql_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/store/postgresql_connection.h"
#include "tests/server/store/scratch_postgresql.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

constexpr OrderedRows kFrom = {
    .table = "numbered", .order = "number", .where = "number >= $1::bigint"};

class PostgresqlPageTest : public ::testing::Test {
 protected:
  PostgresqlPageTest() {
    schema_.Run("CREATE TABLE numbered (number bigint PRIMARY KEY, bytes bytea)");
  }
  // Rows of these numbers, which come the other way round.
  void Fill(int64_t first, int64_t last, int64_t bytes) const {
    schema_.Run(absl::StrCat(
        "INSERT INTO numbered SELECT number, convert_to(repeat('x', ", bytes,
        "), 'UTF8') FROM generate_series(", last, ", ", first, ", -1) AS number"));
  }
  // The first number of the page from `from` on, the last, and how many it has.
  std::vector<int64_t> Page(int64_t from) {
    const PostgresqlRows rows =
        connection_.Ask(select_, PostgresqlValues().Add(from)).value();
    std::vector<int64_t> numbers;
    for (int row = 0; row < rows.size(); ++row) numbers.push_back(rows.Integer(row, 0));
    EXPECT_TRUE(std::is_sorted(numbers.begin(), numbers.end()));
    if (numbers.empty()) return {};
    return {numbers.front(), numbers.back(), static_cast<int64_t>(numbers.size())};
  }
  int64_t Delete(int64_t from) {
    return connection_.Ask(delete_, PostgresqlValues().Add(from)).value().Integer(0, 0);
  }

  // The connection knows its statements by where they are.
  const std::string select_ = SelectPage("number", kFrom);
  const std::string delete_ = DeletePage(kFrom);
  ScratchPostgresql schema_;
  PostgresqlConnection connection_ = schema_.Connect();
};

TEST_F(PostgresqlPageTest, EndsBehindSoManyRows) {
  Fill(1, kPostgresqlPageRows + 5, 1);
  EXPECT_THAT(Page(3),
              ::testing::ElementsAre(3, kPostgresqlPageRows + 2, kPostgresqlPageRows));
  EXPECT_EQ(Delete(3), kPostgresqlPageRows);
  EXPECT_THAT(Page(1), ::testing::ElementsAre(1, kPostgresqlPageRows + 5, 5));
  EXPECT_EQ(Delete(3), 3);
  EXPECT_EQ(Delete(3), 0);
  EXPECT_THAT(Page(3), ::testing::IsEmpty());
}

TEST_F(PostgresqlPageTest, EndsWithTheRowThatFillsIt) {
  Fill(1, 10, kPostgresqlPageBytes / 4 + 1);
  EXPECT_THAT(Page(1), ::testing::ElementsAre(1, 4, 4));
  EXPECT_EQ(Delete(1), 4);
  EXPECT_THAT(Page(1), ::testing::ElementsAre(5, 8, 4));
}

}  // namespace
}  // namespace evenpack::testing
