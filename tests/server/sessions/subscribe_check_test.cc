#include "server/sessions/subscribe_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "server/core/document/invalid_field.h"
#include "server/runtime/status_detail.h"
#include "tests/server/sessions/session_rig.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::SessionRig;
using ::testing::StartsWith;
using testing::StatusIs;

// Steps 2 to 5 of epoch 2 are kept; rank 0 has made 2 durable, rank 1 four.
SessionRig SixSteps() {
  SessionRig rig;
  rig.PublishSteps(6);
  rig.LetGo(2);
  rig.durable = {2, 4};
  return rig;
}

TEST(SubscribeCheckTest, StartsWhereAskedOrAtTheFirstThatTheRankHasNotMadeDurable) {
  const SessionRig rig = SixSteps();
  SubscribeRequest request;
  EXPECT_EQ(CheckSubscribe(request, rig.view()).value(), 2U);
  request.dp_rank = 1;
  EXPECT_EQ(CheckSubscribe(request, rig.view()).value(), 4U);
  for (const uint64_t from : {2U, 3U, 5U, 6U}) {
    request.from_step = from;
    EXPECT_EQ(CheckSubscribe(request, rig.view()).value(), from);
    request.last_digest = rig.window.DigestBefore(from);
    EXPECT_EQ(CheckSubscribe(request, rig.view()).value(), from);
    request.last_digest.reset();
  }
}

TEST(SubscribeCheckTest, TheFirstStepFollowsTheDigestOfNoSteps) {
  SessionRig rig;
  SubscribeRequest request;
  request.from_step = 0;
  request.last_digest = GenesisDigest();
  EXPECT_EQ(CheckSubscribe(request, rig.view()).value(), 0U);
  request.last_digest = Digest128{1, 2};
  EXPECT_THAT(
      CheckSubscribe(request, rig.view()),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("that of step 0's predecessor")));
}

TEST(SubscribeCheckTest, AcceptsTheEndsOfEveryRange) {
  const SessionRig rig = SixSteps();
  SubscribeRequest request;
  request.dp_rank = 1;
  request.cp_rank = 1;
  request.subscriber = std::string(256, 'x');
  request.credits = 1;
  request.epoch = 2;
  request.layout = Layout::kNative;
  EXPECT_EQ(CheckSubscribe(request, rig.view()).value(), 4U);
  request.credits = 2147483647;
  EXPECT_EQ(CheckSubscribe(request, rig.view()).value(), 4U);
}

TEST(SubscribeCheckTest, RefusesFieldsOutOfTheirRangesByName) {
  const SessionRig rig = SixSteps();
  struct {
    std::function<void(SubscribeRequest&)> damage;
    std::string field;
    std::string message;
  } const cases[] = {
      {[](auto& r) { r.dp_rank = 2; }, "dp_rank",
       "dp_rank: 2 is not accepted; accepted: 0 to 1"},
      {[](auto& r) { r.cp_rank = 2; }, "cp_rank",
       "cp_rank: 2 is not accepted; accepted: 0 to 1"},
      {[](auto& r) { r.subscriber = std::string(257, 'x'); }, "subscriber",
       "subscriber: 257 bytes is not accepted; accepted: 0 to 256 bytes"},
      {[](auto& r) { r.credits = 0; }, "credits",
       "credits: 0 is not accepted; accepted: 1 to 2147483647"},
      {[](auto& r) { r.credits = 2147483648; }, "credits",
       "credits: 2147483648 is not accepted; accepted: 1 to 2147483647"},
      {[](auto& r) { r.last_digest = GenesisDigest(); }, "last_digest",
       "last_digest: a digest without from_step is not accepted; accepted: one "
       "together with from_step"},
      {[](auto& r) { r.last_epoch = 2; }, "last_epoch",
       "last_epoch: an epoch without from_step is not accepted; accepted: one together "
       "with from_step"},
  };
  for (const auto& refused : cases) {
    SubscribeRequest request;
    refused.damage(request);
    const absl::Status status = CheckSubscribe(request, rig.view()).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, refused.message));
    EXPECT_EQ(RefusedField(status), refused.field);
  }
}

TEST(SubscribeCheckTest, AStepLetGoIsOutOfRange) {
  const SessionRig rig = SixSteps();
  SubscribeRequest request;
  request.from_step = 1;
  const absl::Status status = CheckSubscribe(request, rig.view()).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kOutOfRange,
                               HasSubstr("the oldest kept is 2")));
  EXPECT_EQ(DetailOf(status), (StatusDetail{"STEP_LET_GO", {{"oldest_step", "2"}}}));
}

TEST(SubscribeCheckTest, AnotherHistoryIsDataLoss) {
  const SessionRig rig = SixSteps();
  struct {
    uint64_t from;
    Digest128 digest;
    std::string message;
  } const cases[] = {
      {3,
       {1, 2},
       "last_digest: 01000000000000000200000000000000 is not that of step 2 here"},
      // The digest of another step of the right history.
      {3, rig.window.DigestBefore(4).value(), "last_digest: "},
      {6, rig.window.DigestBefore(5).value(), "last_digest: "},
  };
  for (const auto& refused : cases) {
    SubscribeRequest request;
    request.from_step = refused.from;
    request.last_digest = refused.digest;
    const absl::Status status = CheckSubscribe(request, rig.view()).status();
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kDataLoss, StartsWith(refused.message)));
    EXPECT_EQ(DetailOf(status).reason, "HISTORY_DIFFERS");
  }
  SubscribeRequest beyond;
  beyond.from_step = 7;
  const absl::Status status = CheckSubscribe(beyond, rig.view()).status();
  EXPECT_THAT(
      status,
      StatusIs(absl::StatusCode::kDataLoss,
               StartsWith(
                   "from_step: 7 is beyond this job's history, whose next step is 6")));
  EXPECT_EQ(DetailOf(status).reason, "HISTORY_DIFFERS");
}

// As where it was withdrawn and formed again for other ranks.
TEST(SubscribeCheckTest, AStepOfAnotherEpochIsAnotherThoughItsDigestIsTheSame) {
  const SessionRig rig = SixSteps();
  SubscribeRequest request;
  request.from_step = 4;
  request.last_digest = rig.window.DigestBefore(4);
  request.last_epoch = rig.window.Get(3)->step.epoch;
  EXPECT_EQ(CheckSubscribe(request, rig.view()).value(), 4U);
  ++*request.last_epoch;
  const absl::Status status = CheckSubscribe(request, rig.view()).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss,
                               AllOf(StartsWith("last_epoch: "),
                                     HasSubstr("is not that of step 3 here"))));
  EXPECT_EQ(DetailOf(status).reason, "HISTORY_DIFFERS");
  // That goes for the last step that was let go, too.
  request.from_step = 2;
  request.last_digest.reset();
  EXPECT_THAT(
      CheckSubscribe(request, rig.view()).status(),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is not that of step 1 here")));
  --*request.last_epoch;
  EXPECT_EQ(CheckSubscribe(request, rig.view()).value(), 2U);
}

TEST(SubscribeCheckTest, AnotherLayoutIsAFailedPrecondition) {
  const SessionRig rig;
  SubscribeRequest request;
  request.layout = Layout::kTeThd;
  const absl::Status status = CheckSubscribe(request, rig.view()).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               "layout: te_thd is not accepted; accepted: native, the "
                               "job's"));
  EXPECT_EQ(DetailOf(status), (StatusDetail{"LAYOUT_DIFFERS", {{"layout", "native"}}}));
}

TEST(SubscribeCheckTest, AnotherEpochIsAbortedWithTheNewShapeBeforeAnythingElse) {
  const SessionRig rig = SixSteps();
  SubscribeRequest request;
  request.epoch = 1;
  // A rank that the old shape may have had.
  request.dp_rank = 9;
  const absl::Status status = CheckSubscribe(request, rig.view()).status();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kAborted,
                       "epoch: the job is in epoch 2: data_parallel 2, micro_batches "
                       "4, context_parallel 2, window 100"));
  EXPECT_EQ(DetailOf(status), (StatusDetail{"EPOCH_ENDED",
                                            {{"epoch", "2"},
                                             {"data_parallel", "2"},
                                             {"micro_batches", "4"},
                                             {"context_parallel", "2"},
                                             {"window", "100"}}}));
}

}  // namespace
}  // namespace evenpack
