#include "server/store/postgresql_sweeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/store/scratch_postgresql.h"
#include "tests/server/store/sharing_server.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Writes = std::vector<StoreWrite>;

// So many rows that one statement can't remove them in its 5 s, where every thousandth
// takes more than one.
constexpr uint64_t kMany = 5600;

class PostgresqlSweeperTest : public ::testing::Test {
 protected:
  PostgresqlSweeperTest() {
    const SharingServer makes_the_tables(schema_.target(), "first:1");
    schema_.Run(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM pg_sleep(1.2); RETURN OLD; END $$;"
        "CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'not now'; END $$");
  }
  // What removing a row of `which` does from now on.
  void Removing(const std::string& does, const std::string& which) const {
    for (const auto& [table, number] : {std::pair("evenpack_records", "place"),
                                        std::pair("evenpack_tokens", "first")}) {
      schema_.Run(absl::StrCat("CREATE TRIGGER removing BEFORE DELETE ON ", table,
                               " FOR EACH ROW WHEN (OLD.", number, which,
                               ") EXECUTE FUNCTION ", does, "()"));
    }
  }
  void RemovingIsSlow() const { Removing("slow", " % 1000 = 7"); }
  void RemovingWorks() const {
    schema_.Run("DROP TRIGGER removing ON evenpack_records");
    schema_.Run("DROP TRIGGER removing ON evenpack_tokens");
  }
  static Writes Records(const std::string& job, uint64_t count) {
    Writes writes;
    for (uint64_t i = 0; i < count; ++i) {
      writes.emplace_back(AppendRecord{job, i, absl::StrCat(i)});
    }
    return writes;
  }
  static Writes Tokens(const std::string& job, uint64_t count) {
    Writes writes;
    for (uint64_t i = 0; i < count; ++i) writes.emplace_back(PutTokens{job, 2, i, "t"});
    return writes;
  }
  // Returns once that is so, or with the test's time.
  void AwaitRows(const std::string& table, int64_t rows) const {
    while (schema_.Number(absl::StrCat("SELECT count(*) FROM ", table)) != rows) {
    }
  }

  ScratchPostgresql schema_;
};

TEST_F(PostgresqlSweeperTest, ASnapshotDoesNotWaitForTheRecordsThatItCovers) {
  SharingServer server(schema_.target(), "here:1");
  ASSERT_THAT(server.Commit(Records("a", kMany)), IsOk());
  RemovingIsSlow();
  ASSERT_THAT(server.Commit({WriteSnapshot{"a", kMany, "state"},
                             AppendRecord{"a", kMany, "next"}}),
              IsOk());
  EXPECT_EQ(server.store().Load("a")->snapshot, "state");
  EXPECT_THAT(server.store().Load("a")->records, ElementsAre("next"));
  ASSERT_THAT(server.Commit({AppendRecord{"a", kMany + 1, "last"}}), IsOk());
  RemovingWorks();
  AwaitRows("evenpack_records", 2);
  EXPECT_THAT(server.store().Load("a")->records, ElementsAre("next", "last"));
}

TEST_F(PostgresqlSweeperTest, ARemovedJobIsGoneAtOnceAndItsRowsLater) {
  SharingServer server(schema_.target(), "here:1");
  ASSERT_THAT(server.Commit(Records("a", kMany)), IsOk());
  ASSERT_THAT(server.Commit(Tokens("a", kMany)), IsOk());
  ASSERT_THAT(server.Commit({AppendRecord{"b", 0, "b"}, PutTokens{"b", 2, 0, "b"},
                             WriteSnapshot{"b", 1, "b"}, AppendRecord{"b", 1, "b"}}),
              IsOk());
  RemovingIsSlow();
  ASSERT_THAT(server.Commit({RemoveJob{"a"}}), IsOk());
  EXPECT_THAT(server.store().Jobs().value(), ElementsAre("b"));
  EXPECT_EQ(server.store().Load("a").status().code(), absl::StatusCode::kNotFound);
  ASSERT_THAT(server.Commit({AppendRecord{"a", 0, "new"}}), IsOk());
  RemovingWorks();
  AwaitRows("evenpack_records", 2);
  AwaitRows("evenpack_tokens", 1);
  AwaitRows("evenpack_snapshots", 1);
  EXPECT_THAT(server.store().Load("a")->records, ElementsAre("new"));
  EXPECT_THAT(server.store().Load("b")->tokens, SizeIs(1));
}

TEST_F(PostgresqlSweeperTest, DroppedTokensAreNotReadAndGoLater) {
  SharingServer server(schema_.target(), "here:1");
  ASSERT_THAT(server.Commit({AppendRecord{"a", 0, "a"}, PutTokens{"a", 1, 0, "other"}}),
              IsOk());
  ASSERT_THAT(server.Commit(Tokens("a", kMany)), IsOk());
  RemovingIsSlow();
  ASSERT_THAT(server.Commit({DropTokens{"a", 2, kMany - 1}}), IsOk());
  EXPECT_THAT(
      server.store().Load("a")->tokens,
      ElementsAre(StoredTokens{1, 0, "other"}, StoredTokens{2, kMany - 1, "t"}));
  // What is put and dropped again meets the first on its way.
  for (int i = 0; i < 2; ++i) {
    ASSERT_THAT(server.Commit({PutTokens{"a", 2, 3, "again"}, DropTokens{"a", 2, 4}}),
                IsOk());
  }
  ASSERT_THAT(server.Commit({PutTokens{"a", 2, 4, "put"}}), IsOk());
  RemovingWorks();
  AwaitRows("evenpack_tokens", 3);
  EXPECT_THAT(server.store().Load("a")->tokens,
              ElementsAre(StoredTokens{1, 0, "other"}, StoredTokens{2, 4, "put"},
                          StoredTokens{2, kMany - 1, "t"}));
}

TEST_F(PostgresqlSweeperTest, WhatAServerLeftTheNextOneRemoves) {
  Removing("fails", " >= 0");
  {
    SharingServer server(schema_.target(), "here:1");
    ASSERT_THAT(server.Commit(Records("a", 3)), IsOk());
    ASSERT_THAT(server.Commit(Records("b", 3)), IsOk());
    ASSERT_THAT(server.Commit(Tokens("b", 3)), IsOk());
    ASSERT_THAT(server.Commit({RemoveJob{"b"}, WriteSnapshot{"a", 3, "state"}}),
                IsOk());
  }
  EXPECT_EQ(schema_.Number("SELECT count(*) FROM evenpack_records"), 6);
  RemovingWorks();
  SharingServer server(schema_.target(), "next:1");
  server.Work();
  AwaitRows("evenpack_records", 0);
  AwaitRows("evenpack_tokens", 0);
  AwaitRows("evenpack_snapshots", 1);
  EXPECT_EQ(server.store().Load("a")->snapshot, "state");
  EXPECT_THAT(server.store().Load("a")->records, IsEmpty());
  EXPECT_THAT(server.Commit({AppendRecord{"a", 3, "next"}}), IsOk());
}

}  // namespace
}  // namespace evenpack::testing
