#include "tests/server/store/state_store_parity.h"

#include <gmock/gmock.h>

#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST_P(StateStoreParityTest, HasNothingAtFirst) {
  EXPECT_THAT(store_->Jobs().value(), IsEmpty());
  EXPECT_THAT(store_->Load("a").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'a'")));
  EXPECT_THAT(Commit({}), IsOk());
  EXPECT_THAT(store_->Jobs().value(), IsEmpty());
}

TEST_P(StateStoreParityTest, KeepsRecordsInOrderAndJobsApart) {
  ASSERT_THAT(Commit({AppendRecord{"b", 0, "b0"}, AppendRecord{"a", 0, "a0"},
                      AppendRecord{"b", 1, "b1"}}),
              IsOk());
  ASSERT_THAT(Commit({AppendRecord{"a", 1, "a1"}}), IsOk());
  EXPECT_THAT(store_->Jobs().value(), ElementsAre("a", "b"));
  EXPECT_THAT(store_->Load("a").value().records, ElementsAre("a0", "a1"));
  const StoredJob b = store_->Load("b").value();
  EXPECT_THAT(b.records, ElementsAre("b0", "b1"));
  EXPECT_EQ(b.snapshot, "");
  EXPECT_EQ(b.snapshot_records, 0U);
}

TEST_P(StateStoreParityTest, KeepsAnyBytes) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  const std::string large(1 << 20, 'x');
  ASSERT_THAT(Commit({AppendRecord{"a", 0, bytes}, AppendRecord{"a", 1, ""},
                      AppendRecord{"a", 2, large}}),
              IsOk());
  EXPECT_THAT(store_->Load("a").value().records, ElementsAre(bytes, "", large));
  ASSERT_THAT(Commit({WriteSnapshot{"a", 3, bytes}}), IsOk());
  EXPECT_EQ(store_->Load("a").value().snapshot, bytes);
}

TEST_P(StateStoreParityTest, ASnapshotTakesThePlaceOfTheRecordsBeforeIt) {
  ASSERT_THAT(Commit({AppendRecord{"a", 0, "a0"}, AppendRecord{"a", 1, "a1"},
                      WriteSnapshot{"a", 2, "after a1"}, AppendRecord{"a", 2, "a2"}}),
              IsOk());
  const StoredJob first = store_->Load("a").value();
  EXPECT_EQ(first.snapshot, "after a1");
  EXPECT_EQ(first.snapshot_records, 2U);
  EXPECT_THAT(first.records, ElementsAre("a2"));

  ASSERT_THAT(Commit({AppendRecord{"a", 3, "a3"}}), IsOk());
  ASSERT_THAT(Commit({WriteSnapshot{"a", 4, "after a3"}}), IsOk());
  const StoredJob second = store_->Load("a").value();
  EXPECT_EQ(second.snapshot, "after a3");
  EXPECT_EQ(second.snapshot_records, 4U);
  EXPECT_THAT(second.records, IsEmpty());
  EXPECT_THAT(Commit({AppendRecord{"a", 4, "a4"}}), IsOk());
}

TEST_P(StateStoreParityTest, ARemovedJobLeavesNothingAndItsNameIsFree) {
  ASSERT_THAT(Commit({AppendRecord{"a", 0, "old"}, AppendRecord{"b", 0, "b0"},
                      WriteSnapshot{"a", 1, "old snapshot"}}),
              IsOk());
  ASSERT_THAT(Commit({RemoveJob{"a"}}), IsOk());
  EXPECT_THAT(store_->Load("a").status(),
              StatusIs(absl::StatusCode::kNotFound, "job: 'a' is not in the store"));
  EXPECT_THAT(store_->Jobs().value(), ElementsAre("b"));

  ASSERT_THAT(Commit({AppendRecord{"a", 0, "new"}}), IsOk());
  const StoredJob again = store_->Load("a").value();
  EXPECT_THAT(again.records, ElementsAre("new"));
  EXPECT_EQ(again.snapshot, "");
  EXPECT_EQ(again.snapshot_records, 0U);
}

TEST_P(StateStoreParityTest, AJobMayBeRemovedAndMadeAnewInOneCommit) {
  ASSERT_THAT(Commit({AppendRecord{"a", 0, "old"}, RemoveJob{"a"},
                      AppendRecord{"a", 0, "new"}, AppendRecord{"a", 1, "newer"}}),
              IsOk());
  EXPECT_THAT(store_->Load("a").value().records, ElementsAre("new", "newer"));
}

TEST_P(StateStoreParityTest, RefusedWritesNameTheJobAndTheNumber) {
  ASSERT_THAT(Commit({AppendRecord{"a", 0, "a0"}, AppendRecord{"a", 1, "a1"}}), IsOk());
  struct {
    StoreWrite write;
    absl::StatusCode code;
    std::vector<std::string> says;
  } const cases[] = {
      {AppendRecord{"a", 0, ""}, absl::StatusCode::kAlreadyExists, {"'a'"}},
      {AppendRecord{"a", 1, ""}, absl::StatusCode::kOutOfRange, {"'a'", "1", "2"}},
      {AppendRecord{"a", 3, ""}, absl::StatusCode::kOutOfRange, {"'a'", "3", "2"}},
      {AppendRecord{"b", 1, ""}, absl::StatusCode::kNotFound, {"'b'"}},
      {WriteSnapshot{"a", 1, ""}, absl::StatusCode::kOutOfRange, {"'a'", "1", "2"}},
      {WriteSnapshot{"a", 3, ""}, absl::StatusCode::kOutOfRange, {"'a'", "3", "2"}},
      {WriteSnapshot{"b", 0, ""}, absl::StatusCode::kNotFound, {"'b'"}},
      {RemoveJob{"b"}, absl::StatusCode::kNotFound, {"'b'"}},
  };
  for (const auto& refused : cases) {
    for (const std::string& part : refused.says) {
      EXPECT_THAT(Commit({refused.write}), StatusIs(refused.code, HasSubstr(part)));
    }
  }
  EXPECT_THAT(store_->Load("a").value().records, ElementsAre("a0", "a1"));
}

TEST_P(StateStoreParityTest, ARefusedCommitChangesNothingOfAnyJob) {
  ASSERT_THAT(Commit({AppendRecord{"a", 0, "a0"}, AppendRecord{"b", 0, "b0"}}), IsOk());
  EXPECT_THAT(
      Commit({AppendRecord{"a", 1, "a1"}, WriteSnapshot{"a", 2, "snapshot"},
              RemoveJob{"b"}, AppendRecord{"c", 0, "c0"}, AppendRecord{"a", 7, "gap"}}),
      StatusIs(absl::StatusCode::kOutOfRange, AllOf(HasSubstr("7"), HasSubstr("2"))));
  EXPECT_THAT(store_->Jobs().value(), ElementsAre("a", "b"));
  const StoredJob a = store_->Load("a").value();
  EXPECT_THAT(a.records, ElementsAre("a0"));
  EXPECT_EQ(a.snapshot, "");
  EXPECT_THAT(store_->Load("b").value().records, ElementsAre("b0"));
}

TEST_P(StateStoreParityTest, TokensAreKeptByStreamUntilTheyAreDropped) {
  ASSERT_THAT(Commit({AppendRecord{"a", 0, "a0"}, PutTokens{"a", 1, 5, "five"},
                      PutTokens{"a", 1, 0, "nought"}, PutTokens{"a", 0, 7, "seven"},
                      PutTokens{"a", 1, 9, std::string("\0x", 2)}}),
              IsOk());
  ASSERT_THAT(Commit({AppendRecord{"b", 0, "b0"}, PutTokens{"b", 1, 0, ""}}), IsOk());
  using Tokens = std::vector<StoredTokens>;
  EXPECT_EQ(store_->Load("a")->tokens, (Tokens{{0, 7, "seven"},
                                               {1, 0, "nought"},
                                               {1, 5, "five"},
                                               {1, 9, std::string("\0x", 2)}}));
  ASSERT_THAT(Commit({DropTokens{"a", 1, 9}, PutTokens{"a", 0, 7, "anew"}}), IsOk());
  EXPECT_EQ(store_->Load("a")->tokens,
            (Tokens{{0, 7, "anew"}, {1, 9, std::string("\0x", 2)}}));
  EXPECT_THAT(store_->Load("a")->records, ElementsAre("a0"));
  ASSERT_THAT(Commit({WriteSnapshot{"a", 1, "s"}, DropTokens{"a", 0, 100}}), IsOk());
  EXPECT_EQ(store_->Load("a")->tokens.size(), 1U);
  // Of a job that is removed nothing is left for the next of its name.
  ASSERT_THAT(Commit({RemoveJob{"a"}, AppendRecord{"a", 0, "new"}}), IsOk());
  EXPECT_THAT(store_->Load("a")->tokens, IsEmpty());
  EXPECT_EQ(store_->Load("b")->tokens, (Tokens{{1, 0, ""}}));
}

TEST_P(StateStoreParityTest, TokensOfAJobThatIsNotThereAreRefusedWithAllElse) {
  for (const StoreWrite& write :
       {StoreWrite(PutTokens{"b", 0, 0, "x"}), StoreWrite(DropTokens{"b", 0, 1})}) {
    EXPECT_THAT(Commit({AppendRecord{"a", 0, "a0"}, write}),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("'b'")));
  }
  EXPECT_THAT(store_->Jobs().value(), IsEmpty());
}

// Each must be whole.
std::vector<std::pair<std::string, std::string>> ProfilesOf(StateStore& store) {
  std::vector<std::pair<std::string, std::string>> profiles;
  const StoredProfiles stored = store.Profiles().value();
  for (const auto& [name, bytes] : stored) {
    profiles.emplace_back(name, bytes.value());
  }
  return profiles;
}

TEST_P(StateStoreParityTest, KeepsProfilesBesideJobs) {
  EXPECT_THAT(ProfilesOf(*store_), IsEmpty());
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  ASSERT_THAT(Commit({WriteProfile{"p", bytes}, AppendRecord{"p", 0, "a job"},
                      WriteProfile{"a", ""}}),
              IsOk());
  EXPECT_THAT(ProfilesOf(*store_), ElementsAre(Pair("a", ""), Pair("p", bytes)));
  EXPECT_THAT(store_->Jobs().value(), ElementsAre("p"));
  ASSERT_THAT(Commit({RemoveJob{"p"}}), IsOk());
  EXPECT_THAT(ProfilesOf(*store_), ElementsAre(Pair("a", ""), Pair("p", bytes)));
}

TEST_P(StateStoreParityTest, AProfileIsReplacedAndRemoved) {
  const std::string large(1 << 20, 'x');
  ASSERT_THAT(Commit({WriteProfile{"p", "old"}, WriteProfile{"q", "q"}}), IsOk());
  ASSERT_THAT(Commit({WriteProfile{"p", large}}), IsOk());
  EXPECT_THAT(ProfilesOf(*store_), ElementsAre(Pair("p", large), Pair("q", "q")));
  ASSERT_THAT(Commit({RemoveProfile{"p"}, RemoveProfile{"none"}}), IsOk());
  EXPECT_THAT(ProfilesOf(*store_), ElementsAre(Pair("q", "q")));
  ASSERT_THAT(Commit({RemoveProfile{"q"}, WriteProfile{"q", "new"}}), IsOk());
  EXPECT_THAT(ProfilesOf(*store_), ElementsAre(Pair("q", "new")));
}

TEST_P(StateStoreParityTest, ARefusedCommitChangesNoProfile) {
  ASSERT_THAT(Commit({WriteProfile{"p", "old"}}), IsOk());
  EXPECT_THAT(Commit({WriteProfile{"p", "new"}, WriteProfile{"q", ""}, RemoveJob{"b"}}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'b'")));
  EXPECT_THAT(ProfilesOf(*store_), ElementsAre(Pair("p", "old")));
}

TEST_P(StateStoreParityTest, ItsSizeIsWhatItTakesOnADevice) {
  constexpr uint64_t kBytes = 1 << 20;
  const uint64_t before = store_->SizeBytes();
  ASSERT_THAT(Commit({AppendRecord{"a", 0, std::string(kBytes, 'x')}}), IsOk());
  const uint64_t after = store_->SizeBytes();
  if (store_->CommitWaits()) {
    EXPECT_GE(after, before + kBytes);
  } else {
    EXPECT_EQ(after, 0U);
  }
}

TEST_P(StateStoreParityTest, ThreadsMayCommitAndLoadAtOnce) {
  constexpr int kThreads = 4;
  constexpr uint64_t kRecords = 50;
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t, &start] {
      const std::string job = absl::StrCat("job", t);
      start.arrive_and_wait();
      for (uint64_t i = 0; i < kRecords; ++i) {
        EXPECT_THAT(Commit({AppendRecord{job, i, absl::StrCat(job, ":", i)}}), IsOk());
        EXPECT_EQ(store_->Load(job).value().records.size(), i + 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_->Jobs().value().size(), static_cast<size_t>(kThreads));
  EXPECT_EQ(store_->Load("job3").value().records.back(), "job3:49");
}

}  // namespace
}  // namespace evenpack::testing
