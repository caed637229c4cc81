#include "server/store/postgresql_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/store/recorded_lead.h"
#include "tests/server/store/scratch_postgresql.h"
#include "tests/server/store/state_store_parity.h"
#include "tests/testing/awaited.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A store that leads what there is, and has read it, so that it may write it.
std::unique_ptr<PostgresqlStore> OpenLeading(const std::string& target,
                                             RecordedLead& lead) {
  std::unique_ptr<PostgresqlStore> store = PostgresqlStore::Open(target).value();
  EXPECT_THAT(store->Join("here:1", lead), IsOk());
  const std::vector<std::string> jobs = store->Jobs().value();
  for (const std::string& job : jobs) store->Load(job).status().IgnoreError();
  return store;
}

// A store that takes its schema with it.
class ScratchPostgresqlStore final : public StateStore {
 public:
  absl::Status Commit(std::span<const StoreWrite> writes) override {
    return store_->Commit(writes);
  }
  bool CommitWaits() const override { return store_->CommitWaits(); }
  absl::StatusOr<std::vector<std::string>> Jobs() override { return store_->Jobs(); }
  absl::StatusOr<StoredJob> Load(const std::string& job) override {
    return store_->Load(job);
  }
  absl::StatusOr<StoredProfiles> Profiles() override { return store_->Profiles(); }
  uint64_t SizeBytes() const override { return store_->SizeBytes(); }

 private:
  ScratchPostgresql schema_;
  RecordedLead lead_;
  std::unique_ptr<PostgresqlStore> store_ = OpenLeading(schema_.target(), lead_);
};

INSTANTIATE_TEST_SUITE_P(Postgresql, StateStoreParityTest, ::testing::Values([] {
                           return std::make_unique<ScratchPostgresqlStore>();
                         }));

class PostgresqlStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<PostgresqlStore> Open() {
    return OpenLeading(schema_.target(), lead_);
  }
  absl::Status OpenStatus() { return PostgresqlStore::Open(schema_.target()).status(); }
  static absl::Status Commit(StateStore& store, const std::vector<StoreWrite>& writes) {
    return store.Commit(writes);
  }
  static std::vector<StoreWrite> Records(const std::string& job, uint64_t count) {
    std::vector<StoreWrite> writes;
    writes.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      writes.emplace_back(AppendRecord{job, i, absl::StrCat(i, std::string(40, 'a'))});
    }
    return writes;
  }
  // All servers have been silent for too long.
  void Expire() { schema_.Run("UPDATE evenpack_servers SET expires = now()"); }
  // Ends the connections of this test's stores.
  void CutConnections() {
    schema_.Run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = current_setting('application_name') "
        "AND pid <> pg_backend_pid()");
  }

  ScratchPostgresql schema_;
  RecordedLead lead_;
};

TEST_F(PostgresqlStoreTest, WhatWasCommittedIsThereWhenItIsOpenedAgain) {
  {
    const auto store = Open();
    ASSERT_THAT(store->Commit(Records("a", 3)), IsOk());
    ASSERT_THAT(Commit(*store, {AppendRecord{"b", 0, "b0"}, WriteSnapshot{"b", 1, "s"},
                                AppendRecord{"b", 1, "more"}, WriteProfile{"p", "x"}}),
                IsOk());
  }
  const auto store = Open();
  EXPECT_THAT(store->Jobs().value(), ElementsAre("a", "b"));
  EXPECT_EQ(store->Load("a")->records.size(), 3U);
  EXPECT_EQ(store->Load("b")->snapshot, "s");
  EXPECT_THAT(store->Load("b")->records, ElementsAre("more"));
  EXPECT_EQ(store->Profiles()->at("p").value(), "x");
  EXPECT_GT(store->SizeBytes(), 0U);
  EXPECT_THAT(Commit(*store, {AppendRecord{"b", 2, ""}, AppendRecord{"c", 0, ""}}),
              IsOk());
}

TEST_F(PostgresqlStoreTest, ARowThatChangedStopsItsJobAlone) {
  struct Case {
    const char* change;
    const char* named;
  };
  for (const Case& each : {
           Case{"UPDATE evenpack_records SET bytes = '' WHERE place & 1023 = 1",
                "record 1 is damaged"},
           Case{"UPDATE evenpack_records SET checksum = '' WHERE place & 1023 = 0",
                "record 0 is damaged"},
           Case{"DELETE FROM evenpack_records WHERE place & 1023 = 1",
                "record 1 is damaged"},
           Case{"UPDATE evenpack_records SET place = place + 7 WHERE place & 1023 = 2",
                "record 2 is damaged"},
           Case{"DELETE FROM evenpack_records",
                "the records of job 'a' from 0 on are missing"},
           Case{"UPDATE evenpack_snapshots SET bytes = ''", "a snapshot is damaged"},
           Case{"UPDATE evenpack_snapshots SET records = 1", "a snapshot is damaged"},
           Case{"UPDATE evenpack_tokens SET bytes = ''",
                "the tokens of stream 2 from document 5 on are damaged"},
           Case{"UPDATE evenpack_tokens SET first = 6", "from document 6 on"},
           Case{"UPDATE evenpack_tokens SET stream = 1", "the tokens of stream 1 from"},
           Case{"UPDATE evenpack_jobs SET name = 'c' WHERE name = 'a'",
                "the row of job 'c'"},
       }) {
    const ScratchPostgresql schema;
    const std::string change = each.change;
    {
      const auto store = OpenLeading(schema.target(), lead_);
      ASSERT_THAT(store->Commit(Records("a", 3)), IsOk());
      ASSERT_THAT(Commit(*store, {PutTokens{"a", 2, 5, "tokens"}}), IsOk());
      if (change.find("snapshots") != std::string::npos) {
        ASSERT_THAT(Commit(*store, {WriteSnapshot{"a", 3, "state"}}), IsOk());
      }
    }
    schema.Run(change);
    const auto store = OpenLeading(schema.target(), lead_);
    ASSERT_THAT(store->Commit(Records("b", 3)), IsOk());
    const std::string name = change.find("name") == std::string::npos ? "a" : "c";
    EXPECT_THAT(store->Load(name),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(each.named)))
        << change;
    EXPECT_EQ(store->Load("b")->records.size(), 3U) << change;
    EXPECT_THAT(Commit(*store, {RemoveJob{name}}), IsOk());
    EXPECT_THAT(store->Jobs().value(), ElementsAre("b"));
  }
}

TEST_F(PostgresqlStoreTest, RecordsThatVanishAreMissed) {
  const auto store = Open();
  ASSERT_THAT(store->Commit(Records("a", 3)), IsOk());
  schema_.Run("DELETE FROM evenpack_records WHERE place & 1023 >= 1");
  EXPECT_THAT(store->Load("a"),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("the records of job 'a' from 1 on are missing")));
}

TEST_F(PostgresqlStoreTest, AProfileThatChangedIsToldAndCanBeReplaced) {
  ASSERT_THAT(Commit(*Open(), {WriteProfile{"p", "x"}, WriteProfile{"q", "whole"}}),
              IsOk());
  schema_.Run("UPDATE evenpack_profiles SET bytes = '' WHERE name = 'p'");
  const auto store = Open();
  EXPECT_THAT(
      store->Profiles()->at("p").status(),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("profile 'p' is damaged")));
  EXPECT_EQ(store->Profiles()->at("q").value(), "whole");
  ASSERT_THAT(Commit(*store, {WriteProfile{"p", "new"}}), IsOk());
  EXPECT_EQ(store->Profiles()->at("p").value(), "new");
}

TEST_F(PostgresqlStoreTest, ANewerFormatIsRefused) {
  Open();
  schema_.Run("UPDATE evenpack_format SET version = 3");
  EXPECT_THAT(OpenStatus(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "store: format version 3 is newer than this program; accepted: "
                       "up to 2"));
}

TEST_F(PostgresqlStoreTest, TablesOfAnotherProgramAreRefusedAndLeftAlone) {
  schema_.Run("CREATE TABLE evenpack_jobs (mine integer)");
  EXPECT_THAT(OpenStatus(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                     HasSubstr("evenpack_jobs")));
  EXPECT_EQ(schema_.Number("SELECT count(mine) FROM evenpack_jobs"), 0);
  EXPECT_EQ(schema_.Number("SELECT count(*) FROM pg_class "
                           "WHERE oid = to_regclass('evenpack_format')"),
            0);
}

TEST_F(PostgresqlStoreTest, ServersThatStartAtOnceMakeTheTablesOnce) {
  std::vector<std::thread> servers;
  servers.reserve(4);
  for (int i = 0; i < 4; ++i) {
    servers.emplace_back([this] { EXPECT_THAT(OpenStatus(), IsOk()); });
  }
  for (std::thread& server : servers) server.join();
  EXPECT_EQ(schema_.Number("SELECT count(*) FROM evenpack_format"), 1);
}

TEST_F(PostgresqlStoreTest, AFullDiskRefusesAndGoesOnWhenThereIsRoom) {
  const auto store = Open();
  ASSERT_THAT(store->Commit(Records("a", 2)), IsOk());
  schema_.Run(
      "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS "
      "$$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; "
      "END $$;"
      "CREATE TRIGGER full_disk BEFORE INSERT ON evenpack_records "
      "EXECUTE FUNCTION full_disk()");
  EXPECT_THAT(Commit(*store, {AppendRecord{"a", 2, "x"}}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("could not extend file")));
  EXPECT_EQ(store->Load("a")->records.size(), 2U);
  schema_.Run("DROP TRIGGER full_disk ON evenpack_records");
  EXPECT_THAT(Commit(*store, {AppendRecord{"a", 2, "x"}}), IsOk());
  EXPECT_EQ(store->Load("a")->records.size(), 3U);
}

TEST_F(PostgresqlStoreTest, ALostConnectionIsMadeAnewAndNothingIsStoredTwice) {
  const auto store = Open();
  ASSERT_THAT(store->Commit(Records("a", 2)), IsOk());
  for (uint64_t number = 2; number < 12; ++number) {
    CutConnections();
    absl::Status status;
    do {
      status = Commit(*store, {AppendRecord{"a", number, absl::StrCat(number)}});
    } while (absl::IsUnavailable(status));
    ASSERT_THAT(status, IsOk());
  }
  const StoredJob job = store->Load("a").value();
  ASSERT_EQ(job.records.size(), 12U);
  EXPECT_EQ(job.records.back(), "11");
}

TEST_F(PostgresqlStoreTest, BeforeItJoinsAndAfterItStepsDownItDoesNothing) {
  const auto store = PostgresqlStore::Open(schema_.target()).value();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Commit(*store, {AppendRecord{"a", 0, ""}}).code(),
              absl::StatusCode::kUnavailable);
    EXPECT_EQ(store->Jobs().status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(store->Load("a").status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(store->Profiles().status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(store->Leave().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(store->HandOver("a").status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(store->Locate("a").status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(store->Places("", 1).status().code(), absl::StatusCode::kUnavailable);
    if (i > 0) break;
    ASSERT_THAT(store->Join("here:1", lead_), IsOk());
    store->StepDown();
  }
}

TEST_F(PostgresqlStoreTest, ALeaseIsRenewedWhileNothingIsWritten) {
  const auto store = Open();
  Expire();
  while (schema_.Number("SELECT count(*) FROM evenpack_servers "
                        "WHERE expires > clock_timestamp()") == 0) {
    // Until the test's time is over.
  }
  EXPECT_THAT(store->Commit(Records("a", 1)), IsOk());
}

TEST_F(PostgresqlStoreTest, ManyJobsAreLedAndTakenOverTogether) {
  constexpr int kJobs = 300;
  auto first = Open();
  std::vector<StoreWrite> writes;
  writes.reserve(kJobs);
  for (int i = 0; i < kJobs; ++i) {
    writes.emplace_back(AppendRecord{absl::StrCat("job", i), 0, "r"});
  }
  ASSERT_THAT(first->Commit(writes), IsOk());
  first->StepDown();
  const auto second = Open();
  for (int i = 0; i < kJobs; ++i) {
    writes[static_cast<size_t>(i)] = AppendRecord{absl::StrCat("job", i), 1, "r"};
  }
  EXPECT_THAT(second->Commit(writes), IsOk());
  EXPECT_EQ(schema_.Number("SELECT count(*) FROM evenpack_records"), 2 * kJobs);
}

}  // namespace
}  // namespace evenpack::testing
