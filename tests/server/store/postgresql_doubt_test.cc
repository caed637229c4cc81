// Commits whose answer is lost: what is told of them is true.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/store/postgresql_store.h"
#include "tests/server/store/lossy_link.h"
#include "tests/server/store/recorded_lead.h"
#include "tests/server/store/scratch_postgresql.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Loss = LossyLink::Loss;
using Writes = std::vector<StoreWrite>;

// In the bytes of the record whose commit is in doubt, which go over the link as they
// are.
constexpr char kMark[] = "in doubt";

class PostgresqlDoubtTest : public ::testing::Test {
 protected:
  void SetUp() override {
    LeaseTiming timing;
    timing.doubt = std::chrono::milliseconds(300);
    store_ = PostgresqlStore::Open(schema_.TargetAt(link_.port()), timing).value();
    ASSERT_THAT(store_->Join("here:1", lead_), IsOk());
    ASSERT_THAT(Commit({AppendRecord{"a", 0, "first"}}), IsOk());
  }

  absl::Status Commit(const Writes& writes) { return store_->Commit(writes); }
  int64_t RecordsInTable() const {
    return schema_.Number("SELECT count(*) FROM evenpack_records");
  }
  // A commit whose connection is lost so, and for which no other comes until Heal.
  void CommitInDoubt(Loss loss, const Writes& writes) {
    link_.Lose(loss, kMark, /*cuts=*/true);
    EXPECT_THAT(Commit(writes),
                StatusIs(absl::StatusCode::kUnknown, HasSubstr("in doubt")));
    // Of what comes later no more is known.
    EXPECT_EQ(Commit({AppendRecord{"a", 1, "later"}}).code(),
              absl::StatusCode::kUnknown);
    EXPECT_EQ(store_->Load("a").status().code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(lead_.Take(), IsEmpty());
  }
  // What the store reads of a job once it is reached again.
  std::vector<std::string> AwaitRecords(const std::string& job) {
    while (true) {
      const absl::StatusOr<StoredJob> loaded = store_->Load(job);
      if (loaded.ok()) return loaded->records;
      EXPECT_EQ(loaded.status().code(), absl::StatusCode::kUnavailable);
    }
  }

  ScratchPostgresql schema_;
  LossyLink link_{schema_.port()};
  RecordedLead lead_;
  std::unique_ptr<PostgresqlStore> store_;
};

TEST_F(PostgresqlDoubtTest, ACommitThatStandsIsToldAsOne) {
  link_.Lose(Loss::kAnswer, kMark);
  EXPECT_THAT(Commit({AppendRecord{"a", 1, kMark}, AppendRecord{"b", 0, "new"}}),
              IsOk());
  EXPECT_THAT(store_->Load("a")->records, ElementsAre("first", kMark));
  EXPECT_THAT(store_->Jobs().value(), ElementsAre("a", "b"));
  // It is no news that this server leads what it has made.
  EXPECT_THAT(lead_.Take(), IsEmpty());
  // The store knows where it is.
  EXPECT_THAT(Commit({AppendRecord{"a", 2, "x"}, AppendRecord{"b", 1, "x"}}), IsOk());
  EXPECT_EQ(RecordsInTable(), 5);
}

TEST_F(PostgresqlDoubtTest, ACommitThatDoesNotStandIsToldAsNone) {
  link_.Lose(Loss::kRequest, kMark);
  EXPECT_EQ(Commit({AppendRecord{"a", 1, kMark}}).code(),
            absl::StatusCode::kUnavailable);
  EXPECT_THAT(store_->Load("a")->records, ElementsAre("first"));
  EXPECT_EQ(RecordsInTable(), 1);
  EXPECT_THAT(Commit({AppendRecord{"a", 1, "again"}}), IsOk());
  EXPECT_THAT(store_->Load("a")->records, ElementsAre("first", "again"));
}

TEST_F(PostgresqlDoubtTest, WhatWasToldAsNoneDoesNotComeToStandLater) {
  link_.Lose(Loss::kDelay, kMark);
  EXPECT_EQ(Commit({AppendRecord{"a", 1, kMark}}).code(),
            absl::StatusCode::kUnavailable);
  // From the old connection, which the database still has.
  link_.Deliver();
  EXPECT_EQ(RecordsInTable(), 1);
  EXPECT_THAT(Commit({AppendRecord{"a", 1, "again"}}), IsOk());
  EXPECT_THAT(store_->Load("a")->records, ElementsAre("first", "again"));
}

TEST_F(PostgresqlDoubtTest, AfterAnotherLedItIsToldThatAnotherLeads) {
  link_.Lose(Loss::kDelay, kMark);
  // Between the old connection and the new one another server takes what there is.
  schema_.Run("UPDATE evenpack_leases SET server = 'another', epoch = epoch + 1");
  EXPECT_EQ(Commit({AppendRecord{"a", 1, kMark}}).code(),
            absl::StatusCode::kUnavailable);
  link_.Deliver();
  EXPECT_EQ(RecordsInTable(), 1);
  EXPECT_THAT(Commit({AppendRecord{"a", 1, "again"}}),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("another server leads")));
}

TEST_F(PostgresqlDoubtTest, ARemovalThatStandsIsNoNews) {
  ASSERT_THAT(Commit({AppendRecord{"b", 0, "first"}}), IsOk());
  link_.Lose(Loss::kAnswer, kMark);
  EXPECT_THAT(Commit({RemoveJob{"a"}, AppendRecord{"b", 1, kMark}}), IsOk());
  EXPECT_THAT(store_->Jobs().value(), ElementsAre("b"));
  EXPECT_THAT(Commit({AppendRecord{"b", 2, "x"}}), IsOk());
  EXPECT_THAT(lead_.Take(), IsEmpty());
}

TEST_F(PostgresqlDoubtTest, AHandOverThatStandsIsToldAsOne) {
  const auto other = PostgresqlStore::Open(schema_.target()).value();
  RecordedLead others;
  ASSERT_THAT(other->Join("other:1", others), IsOk());
  // In the statement when it is first prepared.
  link_.Lose(Loss::kAnswer, "evenpack_give");
  EXPECT_EQ(store_->HandOver("a").value(), "other:1");
  EXPECT_TRUE(others.Await("taken a"));
  EXPECT_THAT(store_->Jobs().value(), IsEmpty());
  EXPECT_EQ(Commit({AppendRecord{"a", 1, "late"}}).code(), absl::StatusCode::kAborted);
  EXPECT_THAT(lead_.Take(), IsEmpty());
}

TEST_F(PostgresqlDoubtTest, AHandOverThatDoesNotStandChangesNothing) {
  const auto other = PostgresqlStore::Open(schema_.target()).value();
  RecordedLead others;
  ASSERT_THAT(other->Join("other:1", others), IsOk());
  link_.Lose(Loss::kDelay, "evenpack_give");
  EXPECT_EQ(store_->HandOver("a").status().code(), absl::StatusCode::kUnavailable);
  link_.Deliver();
  EXPECT_THAT(Commit({AppendRecord{"a", 1, "kept"}}), IsOk());
  EXPECT_THAT(lead_.Take(), IsEmpty());
  EXPECT_EQ(store_->HandOver("a").value(), "other:1");
}

TEST_F(PostgresqlDoubtTest, AHandOverToNobodyIsToldAsNone) {
  link_.Lose(Loss::kAnswer, "evenpack_give");
  EXPECT_EQ(store_->HandOver("a").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Commit({AppendRecord{"a", 1, "kept"}}), IsOk());
}

TEST_F(PostgresqlDoubtTest, OneInDoubtThatStandsIsReadOnceTheDatabaseIsBack) {
  CommitInDoubt(Loss::kAnswer,
                {AppendRecord{"a", 1, kMark}, AppendRecord{"b", 0, "new"}});
  EXPECT_EQ(RecordsInTable(), 3);
  link_.Heal();
  EXPECT_THAT(AwaitRecords("a"), ElementsAre("first", kMark));
  EXPECT_TRUE(lead_.Await("taken b"));
  EXPECT_THAT(Commit({AppendRecord{"a", 1, kMark}}),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("")));
  EXPECT_THAT(AwaitRecords("b"), ElementsAre("new"));
  EXPECT_THAT(Commit({AppendRecord{"a", 2, "x"}, AppendRecord{"b", 1, "x"}}), IsOk());
}

TEST_F(PostgresqlDoubtTest, OneInDoubtThatDoesNotStandNeverWill) {
  CommitInDoubt(Loss::kDelay, {AppendRecord{"a", 1, kMark}});
  link_.Heal();
  EXPECT_THAT(AwaitRecords("a"), ElementsAre("first"));
  // From the old connection, which the database still has.
  link_.Deliver();
  EXPECT_THAT(Commit({AppendRecord{"a", 1, "again"}}), IsOk());
  EXPECT_THAT(AwaitRecords("a"), ElementsAre("first", "again"));
  EXPECT_THAT(lead_.Take(), IsEmpty());
}

TEST_F(PostgresqlDoubtTest, ARemovalInDoubtThatStandsIsNews) {
  ASSERT_THAT(Commit({AppendRecord{"b", 0, "first"}}), IsOk());
  CommitInDoubt(Loss::kAnswer, {AppendRecord{"b", 1, kMark}, RemoveJob{"a"}});
  link_.Heal();
  EXPECT_TRUE(lead_.Await("lost a"));
  EXPECT_THAT(store_->Jobs().value(), ElementsAre("b"));
}

TEST_F(PostgresqlDoubtTest, AProfileInDoubtThatStandsIsNews) {
  // By now it knows how often they were changed.
  ASSERT_THAT(Commit({WriteProfile{"p", "first"}}), IsOk());
  CommitInDoubt(Loss::kAnswer, {WriteProfile{"p", kMark}});
  link_.Heal();
  EXPECT_TRUE(lead_.Await("profiles"));
  EXPECT_EQ(*store_->Profiles()->at("p"), kMark);
}

TEST_F(PostgresqlDoubtTest, WhoIsBackWhenAnotherLeadsLetsGo) {
  CommitInDoubt(Loss::kDelay, {AppendRecord{"a", 1, kMark}});
  const auto other = PostgresqlStore::Open(schema_.target()).value();
  RecordedLead others;
  ASSERT_THAT(other->Join("other:1", others), IsOk());
  EXPECT_TRUE(others.Await("taken a"));
  EXPECT_THAT(other->Load("a")->records, ElementsAre("first"));
  const Writes writes = {AppendRecord{"a", 1, "theirs"}};
  ASSERT_THAT(other->Commit(writes), IsOk());
  link_.Heal();
  link_.Deliver();
  EXPECT_TRUE(lead_.Await("lost a"));
  EXPECT_EQ(Commit({AppendRecord{"a", 1, "late"}}).code(), absl::StatusCode::kAborted);
  EXPECT_THAT(other->Load("a")->records, ElementsAre("first", "theirs"));
}

TEST_F(PostgresqlDoubtTest, AHandOverInDoubtIsToldOfOnceTheDatabaseIsBack) {
  const auto other = PostgresqlStore::Open(schema_.target()).value();
  RecordedLead others;
  ASSERT_THAT(other->Join("other:1", others), IsOk());
  link_.Lose(Loss::kAnswer, "evenpack_give", /*cuts=*/true);
  EXPECT_EQ(store_->HandOver("a").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(others.Await("taken a"));
  link_.Heal();
  EXPECT_TRUE(lead_.Await("lost a"));
}

TEST_F(PostgresqlDoubtTest, ThatItIsCutOffIsToldOnceItWasForLong) {
  LossyLink link(schema_.port());
  LeaseTiming timing;
  timing.doubt = std::chrono::milliseconds(100);
  timing.away = std::chrono::milliseconds(300);
  RecordedLead lead;
  const auto store =
      PostgresqlStore::Open(schema_.TargetAt(link.port()), timing).value();
  ASSERT_THAT(store->Join("there:1", lead), IsOk());
  ASSERT_THAT(store->Commit(Writes{AppendRecord{"b", 0, "first"}}), IsOk());
  EXPECT_FALSE(store->IsCutOff());
  EXPECT_FALSE(store->IsAway());
  for (const uint64_t record : {1U, 2U}) {
    link.Lose(Loss::kRequest, kMark, /*cuts=*/true);
    EXPECT_EQ(store->Commit(Writes{AppendRecord{"b", record, kMark}}).code(),
              absl::StatusCode::kUnknown);
    // Before that is told.
    EXPECT_TRUE(store->IsAway());
    ASSERT_TRUE(lead.Await("cut off"));
    EXPECT_TRUE(store->IsCutOff());
    // And anew while it lasts.
    lead.Take();
    ASSERT_TRUE(lead.Await("cut off"));
    link.Heal();
    while (!store->Commit(Writes{AppendRecord{"b", record, "next"}}).ok()) {
      store->Load("b").IgnoreError();
    }
    EXPECT_FALSE(store->IsCutOff());
    EXPECT_FALSE(store->IsAway());
    lead.Take();
  }
  // Of the other one nothing was cut.
  EXPECT_FALSE(store_->IsCutOff());
}

TEST_F(PostgresqlDoubtTest, WhoseLeaseMayHaveRunOutIsNotSureToLead) {
  LossyLink link(schema_.port());
  LeaseTiming timing;
  timing.doubt = std::chrono::milliseconds(100);
  timing.lease = std::chrono::milliseconds(900);
  timing.renewal = std::chrono::milliseconds(300);
  RecordedLead lead;
  const auto store =
      PostgresqlStore::Open(schema_.TargetAt(link.port()), timing).value();
  EXPECT_FALSE(store->IsSureToLead());
  ASSERT_THAT(store->Join("there:1", lead), IsOk());
  ASSERT_THAT(store->Commit(Writes{AppendRecord{"b", 0, "first"}}), IsOk());
  EXPECT_TRUE(store->IsSureToLead());
  link.Lose(Loss::kRequest, kMark, /*cuts=*/true);
  EXPECT_EQ(store->Commit(Writes{AppendRecord{"b", 1, kMark}}).code(),
            absl::StatusCode::kUnknown);
  ASSERT_TRUE(lead_.Await("taken b"));
  EXPECT_FALSE(store->IsSureToLead());
  // The other, which took it, was sure all the time.
  EXPECT_TRUE(store_->IsSureToLead());
  link.Heal();
  while (!store->IsSureToLead()) std::this_thread::yield();
  EXPECT_THAT(lead.Take(), Contains("lost b"));
}

}  // namespace
}  // namespace evenpack::testing
