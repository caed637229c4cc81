#include "server/core/engine/state_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "server/core/digest/digest_bytes.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::MakeSpec;
using testing::StatusIs;
using testing::TestJob;

// A state with something in every field.
TestJob ExampleJob() {
  JobSpec spec = MakeSpec(PolicyKind::kWlb, 4, 1000);
  spec.streams = {{"a", 2}, {"b", 1}};
  spec.policy.queue_thresholds = {375, 750};
  spec.max_delay = 20;
  spec.tensor_parallel = 3;
  spec.pipeline_parallel = 5;
  spec.virtual_pipeline_group = 2;
  spec.expert_parallel = 7;
  spec.layout.max_documents = 500;
  spec.layout.shape_ladder = {500, 1200};
  spec.max_buffered_tokens = 100'000;
  spec.max_buffered_documents = 200'000;
  spec.max_buffered_bytes = 2'000'000;
  spec.description = std::string("a\0b", 3);
  spec.context_parallel = 2;
  spec.sharding = Sharding::kHybrid;
  spec.hybrid = {.token_tolerance_ppm = 3, .token_ps = 4, .cut_token_ps = 5};
  spec.kernel_latency =
      KernelLatencyTable::FromGrid({128, 256}, {128, 256}, {5, 6, 5, 6}, 7).value();
  TestJob job(spec);
  EXPECT_THAT(job.Ingest(testing::SkewedLengths(21, 900, 1000), "a"), IsOk());
  EXPECT_THAT(job.Ingest(testing::SkewedLengths(22, 300, 1000), "b"), IsOk());
  EXPECT_THAT(job.End("b"), IsOk());
  for (int i = 0; i < 6; ++i) EXPECT_THAT(job.Do(FormStep{}), IsOk());
  EXPECT_THAT(job.Do(Acknowledge{0, 1}), IsOk());
  spec.policy.kind = PolicyKind::kFixedGreedy;
  spec.policy.window_batches = 3;
  EXPECT_THAT(job.Do(UpdateJob{5, spec}), IsOk());
  EXPECT_THAT(job.Do(FormStep{}), IsOk());
  return job;
}

TEST(StateCodecTest, AStateComesBackWhole) {
  const TestJob job = ExampleJob();
  const std::string bytes = EncodeState(job.state());
  const absl::StatusOr<JobState> decoded = DecodeState(bytes);
  ASSERT_THAT(decoded, IsOk());
  EXPECT_EQ(*decoded, job.state());
  EXPECT_EQ(EncodeState(*decoded), bytes);
}

TEST(StateCodecTest, AnEmptyStateComesBack) {
  EXPECT_EQ(DecodeState(EncodeState({})).value(), JobState());
}

TEST(StateCodecTest, EveryDamagedByteIsFound) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 1, 10));
  ASSERT_THAT(job.Ingest({4, 10}), IsOk());
  ASSERT_THAT(job.Do(FormStep{}), IsOk());
  const std::string bytes = EncodeState(job.state());
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_THAT(DecodeState(damaged),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("state: ")))
        << "byte " << i;
  }
}

TEST(StateCodecTest, AnotherFileIsRefusedInTheWordsOfWhoGaveIt) {
  EXPECT_THAT(
      DecodeState("100\n200\n"),
      StatusIs(absl::StatusCode::kDataLoss,
               "state: 8 bytes that don't start as a state does; accepted: what a "
               "checkpoint holds, whole"));
}

TEST(StateCodecTest, EveryCutIsFound) {
  TestJob job(MakeSpec(PolicyKind::kWlb, 1, 10));
  const std::string bytes = EncodeState(job.state());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(DecodeState(bytes.substr(0, size)),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("state: ")));
  }
}

// A state's bytes, all but their digest, as one of another version.
std::string OfVersion(char version, std::string bytes) {
  bytes[8] = version;
  DigestBuilder digest;
  digest.Text(bytes);
  return bytes + DigestBytes(digest.Finish());
}

std::string WithoutDigest(const JobState& state) {
  const std::string bytes = EncodeState(state);
  return bytes.substr(0, bytes.size() - 16);
}

TEST(StateCodecTest, AnotherVersionIsRefused) {
  for (const char version : {char{3}, char{8}}) {
    EXPECT_THAT(DecodeState(OfVersion(version, WithoutDigest(JobState()))),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         absl::StrCat("state: format version ", int{version},
                                      " is not accepted; accepted: 4 to 7")));
  }
}

TEST(StateCodecTest, VersionsBeforeAreReadWithWhatTheyLackAsAtFirst) {
  JobState state;
  state.lineage = 9;
  std::string bytes = WithoutDigest(state);
  bytes.resize(bytes.size() - 8);
  absl::StatusOr<JobState> read = DecodeState(OfVersion(6, bytes));
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(*read, JobState());
  state.position.novelty = 8;
  bytes = WithoutDigest(state);
  bytes.resize(bytes.size() - 8);
  // Three empty lists follow it, and the mean delay is before it.
  bytes.erase(bytes.size() - 4 * 8, 8);
  read = DecodeState(OfVersion(5, bytes));
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(*read, JobState());
  state.position.mean_delay = 7;
  bytes = WithoutDigest(state);
  bytes.resize(bytes.size() - 8);
  bytes.erase(bytes.size() - 5 * 8, 2 * 8);
  read = DecodeState(OfVersion(4, bytes));
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(*read, JobState());
}

// What a restored job does next is what the original does.
TEST(StateCodecTest, ARestoredJobGoesOnIdentically) {
  TestJob job = ExampleJob();
  TestJob restored(DecodeState(EncodeState(job.state())).value());
  for (TestJob* each : {&job, &restored}) {
    ASSERT_THAT(each->Ingest(testing::SkewedLengths(23, 500, 1000), "a"), IsOk());
    ASSERT_THAT(each->End("a"), IsOk());
    each->FormAll().IgnoreError();
    EXPECT_TRUE(IsDrained(each->state()));
  }
  EXPECT_EQ(restored.state(), job.state());
}

}  // namespace
}  // namespace evenpack
