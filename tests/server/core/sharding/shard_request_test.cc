#include "server/core/sharding/shard_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace evenpack {
namespace {

using ::testing::HasSubstr;

TEST(PadMultipleTest, IsTheLeastCommonMultipleWithTwiceTheGroup) {
  struct Row {
    uint32_t context_parallel, pad_to, multiple;
  };
  const Row rows[] = {
      {1, 0, 0},
      {1024, 0, 0},
      {1, 1, 2},
      {4, 1, 8},
      {4, 12, 24},
      {3, 4, 12},
      {16, 128, 128},
      {1000, 128, 16000},
      {5, 7, 70},
      {1023, 2, 2046},
      {1, 2147483646, 2147483646},
      {1024, 3, 6144},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(*PadMultiple(row.context_parallel, row.pad_to), row.multiple)
        << row.context_parallel << " " << row.pad_to;
  }
}

TEST(ValidateShardRequestTest, AcceptsTheExtremes) {
  EXPECT_TRUE(ValidateShardRequest({}, 1, 0).ok());
  const std::vector<uint32_t> lengths = {1, 2147483647};
  EXPECT_TRUE(ValidateShardRequest(lengths, 1024, 0).ok());
  EXPECT_TRUE(ValidateShardRequest(lengths, 1, 2147483646).ok());
}

TEST(ValidateShardRequestTest, NamesTheRefusedFieldValueAndWhatIsAccepted) {
  struct Row {
    std::vector<uint32_t> lengths;
    uint32_t context_parallel, pad_to;
    std::string message;
  };
  const Row rows[] = {
      {{1}, 0, 0, "context_parallel: 0 is not accepted; accepted: 1 to 1024"},
      {{1}, 1025, 0, "context_parallel: 1025 is not accepted; accepted: 1 to 1024"},
      {{1}, 4, 2147483648, "pad_to: 2147483648 is not accepted; accepted: 0 (no "},
      {{1}, 2, 2147483647, "multiple with 4 (twice context_parallel) is at most 21474"},
      {{1}, 1, 2147483647, "multiple with 2 (twice context_parallel) is at most 21474"},
      {{1}, 1, 1073741825, "pad_to: 1073741825 is not accepted"},
      {{1, 0}, 4, 0, "lengths[1]: 0 is not accepted; accepted: 1 to 2147483647"},
      {{2147483648, 1}, 4, 0, "lengths[0]: 2147483648 is not accepted; accepted: 1 "},
  };
  for (const Row& row : rows) {
    const absl::Status status =
        ValidateShardRequest(row.lengths, row.context_parallel, row.pad_to);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.message));
  }
}

}  // namespace
}  // namespace evenpack
