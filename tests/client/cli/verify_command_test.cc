#include "client/cli/verify_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/engine/event_codec.h"
#include "server/core/engine/state_codec.h"
#include "server/store/sqlite_database.h"
#include "server/store/sqlite_store.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::ScratchDirectory;
using testing::StatusIs;
using testing::TestJob;

class VerifyCommandTest : public ::testing::Test {
 protected:
  // The job "good" as records, the job "bad" as a snapshot.
  void SetUp() override {
    ASSERT_THAT(job_.Ingest(std::vector<uint32_t>(40, 50)), IsOk());
    job_.FormAll().IgnoreError();
    const auto store = SqliteStore::Open(path_).value();
    std::vector<StoreWrite> writes;
    for (const Event& event : job_.journal()) {
      writes.emplace_back(AppendRecord{"good", writes.size(), EncodeEvent(event)});
    }
    ASSERT_THAT(store->Commit(writes), IsOk());
    const std::vector<StoreWrite> bad = {
        AppendRecord{"bad", 0, EncodeEvent(job_.journal()[0])},
        WriteSnapshot{"bad", 1, EncodeState(job_.state())}};
    ASSERT_THAT(store->Commit(bad), IsOk());
  }
  void Change(const std::string& statement) {
    auto database = SqliteDatabase::Open(path_, SqliteDatabase::Mode::kCreate);
    ASSERT_THAT(database->Run(statement), IsOk());
  }
  // Overwrites the first page of a table or an index with zeros.
  void ClearRootOf(const std::string& name) {
    auto database = SqliteDatabase::Open(path_, SqliteDatabase::Mode::kCreate);
    const int64_t size = database->Number("PRAGMA page_size").value();
    const int64_t page =
        database
            ->Number("SELECT rootpage FROM sqlite_master WHERE name = '" + name + "'")
            .value();
    database = absl::UnknownError("closed");
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp((page - 1) * size);
    file << std::string(static_cast<size_t>(size), '\0');
    ASSERT_TRUE(file.flush());
  }
  nlohmann::json VerifyJson() {
    const auto output = RunVerifyCommand({{"FILE", path_}, {"--json", "true"}});
    const nlohmann::json json = nlohmann::json::parse(output->text);
    EXPECT_EQ(json["ok"], !output->failed);
    return json;
  }

  TestJob job_{testing::MakeSpec(PolicyKind::kOriginal, 4, 100)};
  ScratchDirectory directory_;
  const std::string path_ = directory_.File("store");
};

TEST(RunVerifyCommandTest, AsksForAFile) {
  EXPECT_THAT(RunVerifyCommand({}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("FILE is missing; accepted: what the server's")));
}

TEST_F(VerifyCommandTest, TellsWhatAWholeStoreHolds) {
  const nlohmann::json json = VerifyJson();
  EXPECT_EQ(json["ok"], true);
  ASSERT_EQ(json["jobs"].size(), 2U);
  const nlohmann::json& bad = json["jobs"][0];
  EXPECT_EQ(bad["name"], "bad");
  EXPECT_EQ(bad["snapshot_records"], 1);
  const nlohmann::json& good = json["jobs"][1];
  EXPECT_EQ(good["records"], job_.journal().size());
  EXPECT_EQ(good["snapshot_records"], 0);
  EXPECT_GT(good["bytes"], 100);
  for (const nlohmann::json& job : json["jobs"]) {
    EXPECT_EQ(job["ok"], true);
    EXPECT_EQ(job["error"], "");
    EXPECT_EQ(job["next_step"], job_.state().position.next_step);
    EXPECT_EQ(job["durable_steps"], 0);
    EXPECT_EQ(job["digest"], ToHex(job_.state().position.digest));
  }
  const auto text = RunVerifyCommand({{"FILE", "sqlite:" + path_}});
  EXPECT_THAT(text->text, HasSubstr("good: whole, "));
  EXPECT_THAT(text->text, HasSubstr("2 jobs\n"));
}

TEST_F(VerifyCommandTest, NamesTheJobAndWhatIsDamaged) {
  Change("UPDATE snapshots SET bytes = x'00'");
  const nlohmann::json json = VerifyJson();
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["jobs"][0]["ok"], false);
  EXPECT_THAT(json["jobs"][0]["error"].get<std::string>(),
              HasSubstr("a snapshot is damaged"));
  EXPECT_EQ(json["jobs"][1]["ok"], true);
  const auto text = RunVerifyCommand({{"FILE", path_}});
  EXPECT_THAT(text->text, HasSubstr("bad: DAMAGED: "));
  EXPECT_THAT(text->note, HasSubstr("is damaged\n"));
}

TEST_F(VerifyCommandTest, AJobOfWhichNothingIsLeftIsDamaged) {
  Change("DELETE FROM snapshots");
  const nlohmann::json json = VerifyJson();
  EXPECT_EQ(json["jobs"][0]["name"], "bad");
  EXPECT_THAT(json["jobs"][0]["error"].get<std::string>(),
              HasSubstr("the records of job 'bad' from 0 on are missing"));
  EXPECT_EQ(json["jobs"][1]["ok"], true);
}

TEST_F(VerifyCommandTest, AJobOfALaterVersionIsNotDamaged) {
  JobSpec spec = job_.state().spec;
  spec.policy.version = kPolicyVersion + 1;
  ASSERT_THAT(SqliteStore::Open(path_).value()->Commit(std::vector<StoreWrite>{
                  AppendRecord{"newer", 0, EncodeEvent(JobCreated{spec})}}),
              IsOk());
  const nlohmann::json json = VerifyJson();
  EXPECT_EQ(json["ok"], false);
  EXPECT_EQ(json["jobs"][1]["other_version"], false);
  EXPECT_EQ(json["jobs"][2]["ok"], false);
  EXPECT_EQ(json["jobs"][2]["other_version"], true);
  const auto text = RunVerifyCommand({{"FILE", path_}});
  EXPECT_THAT(text->text, HasSubstr(absl::StrCat(
                              "newer: OTHER VERSION: record 0: event: policy.version: ",
                              kPolicyVersion + 1, " is newer than this program")));
  EXPECT_THAT(text->note, HasSubstr("has jobs of a version that this program"));
  Change("UPDATE snapshots SET bytes = x'00'");
  EXPECT_THAT(RunVerifyCommand({{"FILE", path_}})->note, HasSubstr("is damaged\n"));
}

TEST_F(VerifyCommandTest, TellsOfProfiles) {
  EXPECT_EQ(VerifyJson()["profiles"].size(), 0U);
  ASSERT_THAT(SqliteStore::Open(path_).value()->Commit(
                  std::vector<StoreWrite>{WriteProfile{"h100", "bytes"}}),
              testing::IsOk());
  nlohmann::json json = VerifyJson();
  EXPECT_EQ(json["ok"], true);
  EXPECT_EQ(json["profiles"][0]["name"], "h100");
  EXPECT_EQ(json["profiles"][0]["bytes"], 5);
  EXPECT_THAT(RunVerifyCommand({{"FILE", path_}})->text,
              HasSubstr("profile h100: whole, 5 bytes\n2 jobs, 1 cost profile\n"));
  Change("UPDATE profiles SET bytes = x'00'");
  json = VerifyJson();
  EXPECT_EQ(json["ok"], false);
  EXPECT_THAT(json["profiles"][0]["error"].get<std::string>(), HasSubstr("damaged"));
  EXPECT_THAT(RunVerifyCommand({{"FILE", path_}})->text,
              HasSubstr("profile h100: DAMAGED: "));
}

// No job can be created then, and no row that is read has to do with it.
TEST_F(VerifyCommandTest, TellsOfDamageToAnIndex) {
  EXPECT_EQ(VerifyJson()["errors"].size(), 0U);
  ClearRootOf("sqlite_autoindex_jobs_1");
  const nlohmann::json json = VerifyJson();
  EXPECT_EQ(json["ok"], false);
  EXPECT_GT(json["errors"].size(), 0U);
  for (const nlohmann::json& job : json["jobs"]) EXPECT_EQ(job["ok"], true);
  const auto text = RunVerifyCommand({{"FILE", path_}});
  EXPECT_THAT(text->text, HasSubstr("the file: DAMAGED: "));
  EXPECT_THAT(text->text, HasSubstr("good: whole, "));
  EXPECT_EQ(text->note, "evenpackctl: " + path_ + " is damaged\n");
}

TEST_F(VerifyCommandTest, TellsOfJobsWhereTheListOfProfilesIsDamaged) {
  ClearRootOf("sqlite_autoindex_profiles_1");
  const nlohmann::json json = VerifyJson();
  EXPECT_EQ(json["ok"], false);
  EXPECT_GT(json["errors"].size(), 0U);
  EXPECT_EQ(json["jobs"].size(), 2U);
  EXPECT_EQ(json["profiles"].size(), 0U);
}

TEST_F(VerifyCommandTest, AFileThatIsNoStoreIsRefused) {
  EXPECT_THAT(RunVerifyCommand({{"FILE", directory_.File("none")}}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("none: ")));
  EXPECT_THAT(
      RunVerifyCommand({{"FILE", __FILE__}}).status(),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a database")));
}

TEST_F(VerifyCommandTest, AStoreThatAServerHasIsRefused) {
  const auto server = SqliteStore::Open(path_).value();
  EXPECT_THAT(RunVerifyCommand({{"FILE", path_}}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("in use by another process")));
}

}  // namespace
}  // namespace evenpack
