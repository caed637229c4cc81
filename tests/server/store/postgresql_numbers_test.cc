#include "server/store/postgresql_numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/store/scratch_postgresql.h"
#include "tests/server/store/sharing_server.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PostgresqlNumbersTest : public ::testing::Test {
 protected:
  // Of the last job that was made, or tried.
  int64_t LastNumber() const {
    return schema_.Number("SELECT last_value FROM evenpack_job_ids");
  }
  int64_t NumberOf(const std::string& job) const {
    return schema_.Number(
        absl::StrCat("SELECT id FROM evenpack_jobs WHERE name = '", job, "'"));
  }
  void SetLastNumber(int64_t number) const {
    schema_.Run(absl::StrCat("SELECT setval('evenpack_job_ids', ", number, ")"));
  }

  ScratchPostgresql schema_;
};

TEST_F(PostgresqlNumbersTest, TheJobOfTheLastNumberIsAsAnyOther) {
  {
    SharingServer first(schema_.target(), "first:1");
    SetLastNumber(8388606);
    ASSERT_THAT(
        first.Commit({AppendRecord{"last", 0, "a"}, AppendRecord{"last", 1, "b"},
                      PutTokens{"last", 3, 7, "tokens"}}),
        IsOk());
    EXPECT_EQ(NumberOf("last"), 8388607);
  }
  SharingServer second(schema_.target(), "second:1");
  second.Work();
  const absl::StatusOr<StoredJob> job = second.store().Load("last");
  ASSERT_THAT(job, IsOk());
  EXPECT_THAT(job->records, ElementsAre("a", "b"));
  EXPECT_EQ(job->tokens.size(), 1U);
  ASSERT_THAT(
      second.Commit({AppendRecord{"last", 2, "c"}, DropTokens{"last", 3, 8},
                     WriteSnapshot{"last", 3, "state"}, AppendRecord{"last", 3, "d"}}),
      IsOk());
  EXPECT_THAT(second.store().Load("last")->records, ElementsAre("d"));
  EXPECT_THAT(second.Commit({RemoveJob{"last"}}), IsOk());
}

TEST_F(PostgresqlNumbersTest, BeyondTheLastNumberNoJobIsMadeAndOthersGoOn) {
  SharingServer server(schema_.target(), "here:1");
  ASSERT_THAT(server.Commit({AppendRecord{"a", 0, "a"}}), IsOk());
  SetLastNumber(8388607);
  EXPECT_THAT(server.Commit({AppendRecord{"b", 0, "b"}}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("no number is left for a job")));
  EXPECT_THAT(server.Commit({AppendRecord{"a", 1, "a"}}), IsOk());
}

TEST_F(PostgresqlNumbersTest, ANameThatIsTakenUsesNoNumberUp) {
  SharingServer first(schema_.target(), "first:1");
  SharingServer second(schema_.target(), "second:1");
  ASSERT_THAT(first.Commit({AppendRecord{"a", 0, "a"}}), IsOk());
  const int64_t before = LastNumber();
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(
        second.Commit({AppendRecord{"new", 0, ""}, AppendRecord{"a", 0, "again"}}),
        StatusIs(absl::StatusCode::kAlreadyExists, "job: 'a' is in the store"));
  }
  EXPECT_EQ(LastNumber(), before);
  EXPECT_THAT(second.Commit({AppendRecord{"new", 0, ""}}), IsOk());
}

TEST_F(PostgresqlNumbersTest, ANumberDoesNotComeAgainOnceItsJobIsGone) {
  int64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    SharingServer server(schema_.target(), "here:1");
    server.Work();
    ASSERT_THAT(server.Commit({AppendRecord{"a", 0, "a"}}), IsOk());
    EXPECT_GT(NumberOf("a"), last);
    last = NumberOf("a");
    // Made anew within a commit it is another job.
    ASSERT_THAT(server.Commit({RemoveJob{"a"}, AppendRecord{"a", 0, "b"}}), IsOk());
    EXPECT_GT(NumberOf("a"), last);
    last = NumberOf("a");
    ASSERT_THAT(server.Commit({RemoveJob{"a"}}), IsOk());
  }
}

// As a logical replica that has taken over, or a copy of the tables alone.
TEST_F(PostgresqlNumbersTest, NumbersGoOnBehindThoseThatAreUsed) {
  SharingServer server(schema_.target(), "here:1");
  for (const char* const job : {"a", "b", "c"}) {
    ASSERT_THAT(server.Commit({AppendRecord{job, 0, "a"}}), IsOk());
  }
  schema_.Run("ALTER SEQUENCE evenpack_job_ids RESTART");
  ASSERT_THAT(server.Commit({AppendRecord{"d", 0, "d"}, AppendRecord{"e", 0, "e"}}),
              IsOk());
  EXPECT_GT(NumberOf("d"), NumberOf("c"));
  EXPECT_EQ(NumberOf("e"), NumberOf("d") + 1);
}

TEST_F(PostgresqlNumbersTest, NumbersGoOnBehindThoseOfJobsThatAreBeingRemoved) {
  SharingServer server(schema_.target(), "here:1");
  ASSERT_THAT(server.Commit({AppendRecord{"a", 0, "a"}}), IsOk());
  // It is looked for each minute.
  while (schema_.Number("SELECT count(*) FROM pg_stat_activity WHERE query LIKE "
                        "'WITH removed%evenpack_tokens%' AND application_name = "
                        "current_setting('application_name') AND state = 'idle'") ==
         0) {
    // Until the test's time is over.
  }
  schema_.Run("INSERT INTO evenpack_snapshots VALUES (-40, 0, '', '')");
  ASSERT_THAT(server.Commit({AppendRecord{"b", 0, "b"}}), IsOk());
  EXPECT_GT(NumberOf("b"), 40);
  EXPECT_THAT(server.Commit({RemoveJob{"b"}}), IsOk());
}

}  // namespace
}  // namespace evenpack::testing
