// A job whose payload travels by value: its steps have their documents' tokens,
// whatever happens between, and nothing is kept that no step needs.
#include "server/control/job_tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/control/job.h"
#include "server/runtime/status_detail.h"
#include "tests/server/control/small_job.h"
#include "tests/testing/awaited.h"
#include "tests/testing/control_room.h"
#include "tests/testing/made_tokens.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/spared_rounds.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using testing::ControlRoom;
using testing::Describe;
using testing::Do;
using testing::DoUpdate;
using testing::Draw;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::MadeTokens;
using testing::OutlierJob;
using testing::SmallJob;
using testing::StatusIs;
using testing::StepsOfDocuments;

constexpr char kByValue[] = "by value";

JobSpec ByValue(JobSpec spec) {
  spec.description = kByValue;
  return spec;
}

Ingest Documents(uint64_t first_sequence, const std::vector<uint32_t>& lengths,
                 uint32_t stream = 0) {
  Ingest ingest;
  ingest.stream = std::string(1, static_cast<char>('a' + stream));
  ingest.first_sequence = first_sequence;
  ingest.lengths = lengths;
  ingest.token_ids = MadeTokens(stream, first_sequence, lengths);
  return ingest;
}

// The same with the tokens in a file, which this writes.
Ingest InFile(Ingest ingest, const std::string& path) {
  std::ofstream(path, std::ios::binary) << ingest.token_ids;
  ingest.token_ids.clear();
  ingest.token_file = TokenFile{path, kTokenBytes, {}};
  uint64_t offset = 0;
  for (const uint32_t length : ingest.lengths) {
    ingest.token_file->offsets.push_back(offset);
    offset += length * kTokenBytes;
  }
  return ingest;
}

class JobTokensTest : public ::testing::Test {
 protected:
  JobTokensTest() {
    room_.SetTokensTravel(
        [](const JobSpec& spec) { return spec.description == kByValue; });
  }

  // All steps that are kept have their tokens.
  static void CheckSteps(Job& job) {
    const JobStatus status = Describe(job).value();
    for (uint64_t i = status.oldest_step; i < status.next_step; ++i) {
      const auto step = job.FindStep(i);
      ASSERT_THAT(step.status(), IsOk());
      ASSERT_NE((*step)->tokens, nullptr);
      const auto& micro_batches = (*step)->step.micro_batches;
      for (size_t m = 0; m < micro_batches.size(); ++m) {
        std::string expected;
        for (const Document& piece : micro_batches[m].documents) {
          expected += MadeTokens(piece);
        }
        EXPECT_EQ((*step)->tokens->Whole(m), expected) << "step " << i;
      }
    }
  }

  std::vector<StoredTokens> Stored() {
    return room_.memory().Load("job").value().tokens;
  }

  absl::Status Acknowledge(Job& job, uint64_t step) {
    for (const uint32_t rank : {0U, 1U}) {
      absl::Status status = Do(job, evenpack::Acknowledge{rank, step, 0});
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  ControlRoom room_;
};

TEST_F(JobTokensTest, ADocumentSentAgainWithOtherTokensIsRefusedWhileItIsHeld) {
  const auto job = room_.MakeJob(ByValue(SmallJob()));
  ASSERT_THAT(Do(*job, Documents(0, StepsOfDocuments(2))), IsOk());
  // Cut otherwise, and with new documents behind.
  ASSERT_THAT(Do(*job, Documents(3, StepsOfDocuments(2))), IsOk());
  Ingest changed = Documents(0, StepsOfDocuments(3));
  changed.token_ids[(5 * 50 + 49) * kTokenBytes] ^= 1;
  const absl::Status status = Do(*job, changed);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kAborted,
                               HasSubstr("sequence 5 of stream 'a' was accepted with "
                                         "other token ids")));
  EXPECT_EQ(DetailOf(status).reason, "CONTENT_DIFFERS");
  EXPECT_EQ(Describe(*job)->next_step, 2U) << "its new documents came with it";
  CheckSteps(*job);
  // Of what no step has any more nothing is known but what the engine remembers.
  ASSERT_THAT(Acknowledge(*job, 0), IsOk());
  ASSERT_THAT(Acknowledge(*job, 1), IsOk());
  EXPECT_THAT(Do(*job, changed), IsOk());
}

TEST_F(JobTokensTest, StepsHaveTheirDocumentsTokensAndLetThemGo) {
  const auto job = room_.MakeJob(ByValue(SmallJob()));
  ASSERT_THAT(Do(*job, Documents(0, StepsOfDocuments(1))), IsOk());
  ASSERT_THAT(Do(*job, Documents(8, StepsOfDocuments(2))), IsOk());
  CheckSteps(*job);
  EXPECT_EQ(Stored().size(), 2U);
  EXPECT_EQ(job->Figures().payload_bytes, 3 * 8 * 50 * kTokenBytes);
  ASSERT_THAT(Acknowledge(*job, 0), IsOk());
  EXPECT_EQ(Stored().size(), 1U);
  EXPECT_EQ(Stored()[0].first_sequence, 8U);
  ASSERT_THAT(Acknowledge(*job, 1), IsOk());
  EXPECT_EQ(Stored().size(), 1U) << "half of it is in a step that is kept";
  ASSERT_THAT(Acknowledge(*job, 2), IsOk());
  EXPECT_THAT(Stored(), IsEmpty());
  EXPECT_EQ(job->Figures().payload_bytes, 0U);
}

TEST_F(JobTokensTest, WhatIsSkippedHasNone) {
  const auto job = room_.MakeJob(ByValue(SmallJob()));
  // What has come, all of it or half of a batch, and what comes then.
  ASSERT_THAT(Do(*job, Documents(0, {50, 50})), IsOk());
  ASSERT_THAT(Do(*job, Documents(2, {50, 50})), IsOk());
  ASSERT_THAT(Do(*job, Documents(4, {50, 50})), IsOk());
  EXPECT_EQ(Stored().size(), 3U);
  ASSERT_THAT(Do(*job, SkipDocuments{0, {{"a", 0, 3}, {"a", 6, 1000}}}), IsOk());
  EXPECT_EQ(job->Figures().payload_bytes, 4 * 50 * kTokenBytes);
  EXPECT_EQ(Stored().size(), 2U);
  for (uint64_t i = 6; i < 1006; i += 2) {
    ASSERT_THAT(Do(*job, Documents(i, {50, 50})), IsOk());
  }
  EXPECT_EQ(job->Figures().payload_bytes, 4 * 50 * kTokenBytes);
  EXPECT_EQ(Stored().size(), 2U);
  ASSERT_THAT(Do(*job, Documents(1006, StepsOfDocuments(1))), IsOk());
  EXPECT_EQ(Describe(*job)->next_step, 1U);
  CheckSteps(*job);
}

TEST_F(JobTokensTest, ByReferenceThereAreNone) {
  const auto job = room_.MakeJob(SmallJob());
  Ingest ingest = Documents(0, StepsOfDocuments(1));
  EXPECT_THAT(Do(*job, ingest), StatusIs(absl::StatusCode::kInvalidArgument,
                                         AllOf(HasSubstr("token_ids: 1600 bytes"),
                                               HasSubstr("travels by reference"))));
  ingest.token_ids.clear();
  ASSERT_THAT(Do(*job, ingest), IsOk());
  EXPECT_EQ(job->FindStep(0).value()->tokens, nullptr);
  EXPECT_THAT(Stored(), IsEmpty());
}

TEST_F(JobTokensTest, OtherThanFourBytesATokenAreRefused) {
  const auto job = room_.MakeJob(ByValue(SmallJob()));
  for (const size_t bytes : {0U, 79U, 81U}) {
    Ingest ingest = Documents(0, {20});
    ingest.token_ids = std::string(bytes, 'x');
    EXPECT_THAT(Do(*job, ingest),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("token_ids: "), HasSubstr("80 bytes"))));
  }
  EXPECT_EQ(Describe(*job)->streams[0].next_sequence, 0U);
  EXPECT_THAT(Stored(), IsEmpty());
}

TEST_F(JobTokensTest, ARepeatedPartOfABatchIsNotKeptTwice) {
  const auto job = room_.MakeJob(ByValue(SmallJob()));
  ASSERT_THAT(Do(*job, Documents(0, {10, 20, 30})), IsOk());
  ASSERT_THAT(Do(*job, Documents(0, {10, 20, 30})), IsOk());
  ASSERT_THAT(Do(*job, Documents(1, {20, 30, 40, 50})), IsOk());
  ASSERT_EQ(Stored().size(), 2U);
  EXPECT_EQ(Stored()[1].first_sequence, 3U);
  ASSERT_THAT(Do(*job, Documents(5, StepsOfDocuments(2))), IsOk());
  CheckSteps(*job);
}

TEST_F(JobTokensTest, ACheckpointOrAnotherModeIsNotTaken) {
  const auto job = room_.MakeJob(ByValue(SmallJob()));
  ASSERT_THAT(Do(*job, Documents(0, StepsOfDocuments(2))), IsOk());
  const testing::Awaited<absl::StatusOr<JobCheckpoint>> taken;
  job->Checkpoint(0, taken);
  const JobCheckpoint checkpoint = taken.Get().value();
  const auto other = room_.MakeJob(SmallJob(), "other");
  const auto fresh = std::make_shared<Job>("fresh", room_.environment());
  const absl::Status restored = Do(*fresh, RestoreJob{checkpoint.bytes});
  EXPECT_THAT(restored, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 HasSubstr("a step that is kept")));
  EXPECT_EQ(DetailOf(restored).reason, "PAYLOAD_BY_VALUE");
  EXPECT_THAT(
      DoUpdate(*job, SmallJob()),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("spec.payload_mode")));
  EXPECT_THAT(
      DoUpdate(*other, ByValue(SmallJob())),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("spec.payload_mode")));
  JobSpec narrower = ByValue(SmallJob());
  narrower.data_parallel = 1;
  ASSERT_THAT(DoUpdate(*job, narrower), IsOk());
  CheckSteps(*job);
}

TEST_F(JobTokensTest, TokensOfAFileAreReadAndTheirPlaceIsStored) {
  const testing::ScratchDirectory directory;
  room_.SetPayloadRoot(PayloadRoot::Open(directory.File("")).value());
  const auto job = room_.MakeJob(ByValue(SmallJob()));
  const std::vector<uint32_t> lengths = StepsOfDocuments(2);
  const std::string path = directory.File("tokens.bin");
  std::ofstream(path, std::ios::binary) << "head" << MadeTokens(0, 0, lengths);
  Ingest ingest = Documents(0, lengths);
  ingest.token_ids.clear();
  ingest.token_file = TokenFile{path, 4, {}};
  for (uint64_t i = 0; i < lengths.size(); ++i) {
    ingest.token_file->offsets.push_back(4 + i * 50 * 4);
  }
  // Half of them are known by value.
  ASSERT_THAT(Do(*job, Documents(0, StepsOfDocuments(1))), IsOk());
  ASSERT_THAT(Do(*job, ingest), IsOk());
  CheckSteps(*job);
  ASSERT_EQ(Stored().size(), 2U);
  EXPECT_GT(Stored()[0].bytes.size(), 1600U);
  EXPECT_LT(Stored()[1].bytes.size(), 250U);
  CheckSteps(*room_.RecoverJob());
  // Of the first half nothing is read again.
  std::ofstream(path, std::ios::binary) << "head" << MadeTokens(1, 0, lengths);
  EXPECT_THAT(std::make_shared<Job>("job", room_.environment())->Recover(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("has changed")));
  std::ofstream(path, std::ios::binary) << "he";
  EXPECT_THAT(std::make_shared<Job>("job", room_.environment())->Recover(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("has changed")));
  std::filesystem::remove(path);
  EXPECT_THAT(std::make_shared<Job>("job", room_.environment())->Recover(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("token_file.path")));
  ingest.first_sequence = 16;
  ingest.token_file->path = "/etc/passwd";
  EXPECT_THAT(Do(*job, ingest), StatusIs(absl::StatusCode::kInvalidArgument,
                                         HasSubstr("token_file.path")));
  EXPECT_EQ(Describe(*job)->streams[0].next_sequence, 16U);
}

// As a share may hang by then, and all of the server's commits with whoever reads it.
TEST_F(JobTokensTest, AFailedCommitReadsNoFileOfWhichTheTokensAreHere) {
  const testing::ScratchDirectory directory;
  room_.SetPayloadRoot(PayloadRoot::Open(directory.File("")).value());
  const auto job = room_.MakeJob(ByValue(SmallJob()));
  for (const uint64_t first : {0U, 8U}) {
    const std::string path = directory.File("tokens");
    const Ingest ingest = InFile(Documents(first, StepsOfDocuments(1)), path);
    ASSERT_THAT(Do(*job, ingest), IsOk());
    std::filesystem::remove(path);
  }
  room_.store().FailCommits(2);
  EXPECT_FALSE(Do(*job, Documents(16, StepsOfDocuments(1))).ok());
  CheckSteps(*job);
  // One that would have let step 0 go.
  ASSERT_THAT(Do(*job, evenpack::Acknowledge{0, 0, 0}), IsOk());
  room_.store().FailCommits(2);
  EXPECT_FALSE(Do(*job, evenpack::Acknowledge{1, 0, 0}).ok());
  ASSERT_THAT(Describe(*job), IsOk());
  EXPECT_EQ(Describe(*job)->oldest_step, 0U);
  CheckSteps(*job);
  // Once it has, they are gone.
  ASSERT_THAT(Do(*job, evenpack::Acknowledge{1, 0, 0}), IsOk());
  EXPECT_EQ(Stored().size(), 1U);
  room_.store().FailCommits(2);
  EXPECT_FALSE(Do(*job, Documents(16, StepsOfDocuments(1))).ok());
  EXPECT_EQ(job->Figures().payload_bytes, 8 * 50 * kTokenBytes);
  CheckSteps(*job);
}

// A small message may name a gigabyte of tokens.
TEST_F(JobTokensTest, AFileIsReadOnlyForDocumentsThatAreTakenOtherwise) {
  const testing::ScratchDirectory directory;
  room_.SetPayloadRoot(PayloadRoot::Open(directory.File("")).value());
  // Who reads it is told something else.
  Ingest ingest = InFile(Documents(1, StepsOfDocuments(1)), directory.File("tokens"));
  std::filesystem::remove(directory.File("tokens"));
  const auto job = room_.MakeJob(ByValue(SmallJob()));
  EXPECT_THAT(Do(*job, ingest),
              StatusIs(absl::StatusCode::kOutOfRange, HasSubstr("sequence")));
  ingest.first_sequence = 0;
  ingest.stream = "none";
  EXPECT_THAT(Do(*job, ingest),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none")));
  ingest.stream = "a";
  ASSERT_THAT(Do(*job, evenpack::EndOfStream{"a"}), IsOk());
  EXPECT_THAT(Do(*job, ingest),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("ended")));
  EXPECT_THAT(
      Do(*room_.MakeJob(SmallJob(), "by reference"), ingest),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("token_file: one")));
}

TEST_F(JobTokensTest, DocumentsWithoutATokenInAFileAreRefused) {
  const testing::ScratchDirectory directory;
  room_.SetPayloadRoot(PayloadRoot::Open(directory.File("")).value());
  const std::string path = directory.File("tokens.bin");
  std::ofstream(path, std::ios::binary) << "head";
  const std::shared_ptr<Job> jobs[] = {room_.MakeJob(ByValue(SmallJob())),
                                       room_.MakeJob(SmallJob(), "by reference")};
  for (const std::shared_ptr<Job>& job : jobs) {
    for (const size_t documents : {1U, 2U}) {
      Ingest ingest = Documents(0, std::vector<uint32_t>(documents, 0));
      ingest.token_ids.clear();
      ingest.token_file = TokenFile{path, 4, std::vector<uint64_t>(documents, 4)};
      EXPECT_THAT(Do(*job, ingest), StatusIs(absl::StatusCode::kInvalidArgument,
                                             HasSubstr("lengths[0]: 0")));
    }
    EXPECT_EQ(Describe(*job)->streams[0].next_sequence, 0U);
  }
}

TEST_F(JobTokensTest, TokensThatAreMissingBreakTheJobRatherThanItsSteps) {
  {
    const auto job = room_.MakeJob(ByValue(SmallJob()));
    ASSERT_THAT(Do(*job, Documents(0, StepsOfDocuments(2))), IsOk());
  }
  ASSERT_THAT(room_.memory().Commit(std::vector<StoreWrite>{DropTokens{"job", 0, 100}}),
              IsOk());
  const auto job = std::make_shared<Job>("job", room_.environment());
  EXPECT_THAT(job->Recover(), StatusIs(absl::StatusCode::kDataLoss,
                                       HasSubstr("of stream 0 are missing")));
}

// Ingests, repeats, marks, skips, rewinds, failed commits and restarts in random order.
TEST_F(JobTokensTest, WhateverHappensStepsHaveTheirTokens) {
  const testing::ScratchDirectory directory;
  room_.SetPayloadRoot(PayloadRoot::Open(directory.File("")).value());
  for (uint64_t seed = 0; seed < 40; ++seed) {
    if (testing::IsSpared(seed)) continue;
    std::mt19937_64 random(seed);
    JobSpec spec = ByValue(OutlierJob());
    spec.streams = {{.name = "a"}, {.name = "b"}};
    spec.split_overlong = true;
    spec.retain_checkpoints = 1 + Draw(random, 0, 2);
    const std::string name = absl::StrCat("job", seed);
    auto job = room_.MakeJob(spec, name);
    std::vector<std::vector<uint32_t>> lengths(2);
    for (auto& of_stream : lengths) {
      for (int i = 0; i < 200; ++i) of_stream.push_back(Draw(random, 1, 250));
    }
    for (int turn = 0; turn < 60; ++turn) {
      const JobStatus status = Describe(*job).value();
      const uint32_t stream = Draw(random, 0, 1);
      const uint64_t next = status.streams[stream].next_sequence;
      switch (Draw(random, 0, 9)) {
        case 0:
          room_.store().FailCommits(1);
          break;
        case 1:
          job = room_.RecoverJob(name);
          break;
        case 2:
        case 3:
          if (status.durable_steps < status.next_step) {
            for (const uint32_t rank : {0U, 1U}) {
              Do(*job, evenpack::Acknowledge{rank, status.durable_steps, status.epoch})
                  .IgnoreError();
            }
          }
          break;
        case 4:
          Do(*job, RewindJob{status.oldest_step, {}, {}}).IgnoreError();
          break;
        case 5:
          Do(*job,
             SkipDocuments{status.next_step, {{stream == 0 ? "a" : "b", next / 2, 3}}})
              .IgnoreError();
          break;
        default: {
          const uint64_t from = next - std::min<uint64_t>(next, Draw(random, 0, 3));
          const uint64_t to = std::min<uint64_t>(next + Draw(random, 1, 15), 200);
          const std::vector<uint32_t> part(
              lengths[stream].begin() + static_cast<ptrdiff_t>(from),
              lengths[stream].begin() + static_cast<ptrdiff_t>(to));
          if (part.empty()) break;
          Ingest ingest = Documents(from, part, stream);
          if (Draw(random, 0, 1) == 0) {
            ingest = InFile(std::move(ingest),
                            directory.File(absl::StrCat(name, "-", turn)));
          }
          Do(*job, ingest).IgnoreError();
        }
      }
      room_.store().FailCommits(0);
      CheckSteps(*job);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace evenpack
