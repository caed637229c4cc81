#include "gpu_worker/session/pass_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu_worker/selftest/made_micro_batch.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint64_t kRows = 10;
// 2:1 heads of 64 in single precision.
constexpr uint64_t kQueryBytes = kRows * 2 * 64 * 4;
constexpr uint64_t kKeyBytes = kQueryBytes / 2;
constexpr uint64_t kLseBytes = 128;  // 80, aligned

class PassTensorsTest : public ::testing::Test {
 protected:
  PassTensorsTest() {
    AttentionShape shape;
    shape.query_heads = 2;
    shape.head_size = 64;
    prepared_ =
        PrepareMicroBatch(Planned(Sharding::kPerSequence, {kRows}, 1), 0, shape);
    const std::vector<uint64_t> sizes = {kQueryBytes, kKeyBytes, kKeyBytes,
                                         kQueryBytes, kLseBytes, kQueryBytes,
                                         kQueryBytes, kKeyBytes, kKeyBytes};
    uint64_t end = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      submission_.tensors[i] = end;
      end += sizes[i];
    }
    EXPECT_EQ(end, kArenaBytes);
    submission_.kind = SubmissionKind::kBackward;
    submission_.rows = kRows;
    submission_.micro_batch = 3;
    submission_.step = 7;
  }

  absl::StatusOr<PassTensors> Check() const {
    return TensorsOf(submission_, arena_, prepared_);
  }

  static constexpr uint64_t kArenaBytes = 4 * kQueryBytes + 4 * kKeyBytes + kLseBytes;
  const Arena arena_ = *Arena::Create(kArenaBytes);
  PreparedMicroBatch prepared_;
  Submission submission_;
};

TEST_F(PassTensorsTest, TensorsLieWhereTheTrainerSaid) {
  const auto tensors = Check();
  ASSERT_THAT(tensors, IsOk());
  const char* const data = arena_.data();
  EXPECT_EQ(tensors->input.query, data);
  EXPECT_EQ(tensors->input.value, data + kQueryBytes + kKeyBytes);
  EXPECT_EQ(reinterpret_cast<const char*>(tensors->output.log_sum_exp),
            data + submission_.tensors[kLogSumExp]);
  EXPECT_EQ(tensors->gradients.value, data + kArenaBytes - kKeyBytes);
}

TEST_F(PassTensorsTest, AForwardPassHasNoGradients) {
  submission_.kind = SubmissionKind::kForward;
  for (uint32_t i = kOutputGradient; i <= kValueGradient; ++i) {
    submission_.tensors[i] = ~uint64_t{0};
  }
  EXPECT_THAT(Check(), IsOk());
}

TEST_F(PassTensorsTest, InputsMayBeTheSame) {
  submission_.tensors[kValue] = submission_.tensors[kKey];
  EXPECT_THAT(Check(), IsOk());
}

TEST_F(PassTensorsTest, AnotherNumberOfRowsIsRefused) {
  submission_.rows = kRows + 1;
  EXPECT_THAT(Check(), StatusIs(absl::StatusCode::kInvalidArgument,
                                AllOf(HasSubstr("rows: 11 "), HasSubstr("accepted: 10"),
                                      HasSubstr("micro-batch 3 of step 7"))));
}

TEST_F(PassTensorsTest, TensorsOutOfTheArenaOrCrookedAreRefused) {
  struct Case {
    ArenaTensor tensor;
    uint64_t offset;
    std::string message;
  };
  for (const Case& c : {
           Case{kQuery, 1, "query: 1 is not accepted; accepted: a multiple of 64"},
           Case{kKeyGradient, 32, "key_gradient: 32"},
           Case{kValueGradient, kArenaBytes - kKeyBytes + 64, "leaves 2560 bytes"},
           Case{kLogSumExp, kArenaBytes, "leaves 80 bytes"},
           Case{kKey, ~uint64_t{63}, "key: 18446744073709551552"},
       }) {
    const uint64_t before = std::exchange(submission_.tensors[c.tensor], c.offset);
    EXPECT_THAT(Check(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)));
    submission_.tensors[c.tensor] = before;
  }
}

TEST_F(PassTensorsTest, WhatIsWrittenMayLieOverNothing) {
  struct Case {
    SubmissionKind kind;
    ArenaTensor written;
    ArenaTensor other;
    std::string message;
  };
  for (const Case& c : {
           Case{SubmissionKind::kForward, kOutput, kQuery, "apart from that of query"},
           Case{SubmissionKind::kForward, kLogSumExp, kValue, "of value"},
           Case{SubmissionKind::kBackward, kQueryGradient, kOutputGradient,
                "of output_gradient"},
           Case{SubmissionKind::kBackward, kKeyGradient, kQueryGradient,
                "of key_gradient"},
       }) {
    const Submission before = submission_;
    submission_.kind = c.kind;
    submission_.tensors[c.written] = submission_.tensors[c.other] + 64;
    EXPECT_THAT(Check(),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)));
    submission_ = before;
  }
}

}  // namespace
}  // namespace evenpack::worker
