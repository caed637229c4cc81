#include "server/core/pipeline/pipeline_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/server/core/cost/refused_field.h"
#include "tests/server/core/pipeline/random_shape.h"

namespace evenpack {
namespace {

using testing::RandomShape;

// "F0a B0a": forward and backward of micro-batch 0 through chunk a.
std::string Written(const std::vector<ChunkPass>& schedule) {
  std::string text;
  for (const ChunkPass& pass : schedule) {
    absl::StrAppend(&text, text.empty() ? "" : " ",
                    pass.pass == Pass::kForward ? "F" : "B", pass.micro_batch,
                    std::string(1, static_cast<char>('a' + pass.chunk)));
  }
  return text;
}

size_t LeadingForwards(const std::vector<ChunkPass>& schedule) {
  size_t count = 0;
  while (count < schedule.size() && schedule[count].pass == Pass::kForward) ++count;
  return count;
}

TEST(ScheduleOf, IsOneForwardOneBackwardAfterWarmingUp) {
  const PipelineShape shape = {.pipeline_parallel = 4, .micro_batches = 4};
  EXPECT_EQ(Written(ScheduleOf(shape, 0)), "F0a F1a F2a F3a B0a B1a B2a B3a");
  EXPECT_EQ(Written(ScheduleOf(shape, 1)), "F0a F1a F2a B0a F3a B1a B2a B3a");
  EXPECT_EQ(Written(ScheduleOf(shape, 2)), "F0a F1a B0a F2a B1a F3a B2a B3a");
  EXPECT_EQ(Written(ScheduleOf(shape, 3)), "F0a B0a F1a B1a F2a B2a F3a B3a");
}

TEST(ScheduleOf, InterleavesChunksByGroups) {
  const PipelineShape shape = {.pipeline_parallel = 2,
                               .virtual_stages = 2,
                               .micro_batches = 4,
                               .virtual_pipeline_group = 2};
  EXPECT_EQ(Written(ScheduleOf(shape, 0)),
            "F0a F1a F0b F1b F2a B0b F3a B1b F2b B0a F3b B1a B2b B3b B2a B3a");
  EXPECT_EQ(Written(ScheduleOf(shape, 1)),
            "F0a F1a F0b B0b F1b B1b F2a B0a F3a B1a F2b B2b F3b B3b B2a B3a");
}

TEST(LeastPipelineGroup, IsTheLeastThatAScheduleTakes) {
  struct Case {
    uint32_t pipeline, micro_batches, group;
  };
  for (const Case& test : {Case{1, 1, 1}, Case{1, 6, 1}, Case{4, 8, 4}, Case{4, 6, 6},
                           Case{4, 7, 7}, Case{4, 10, 5}, Case{5, 36, 6}, Case{8, 4, 4},
                           Case{1024, 4'294'967'295, 1285}}) {
    EXPECT_EQ(LeastPipelineGroup(test.pipeline, test.micro_batches), test.group)
        << test.pipeline << " " << test.micro_batches;
  }
  for (uint32_t pipeline = 1; pipeline < 20; ++pipeline) {
    for (uint32_t micro_batches = 1; micro_batches < 50; ++micro_batches) {
      PipelineShape shape = {pipeline, 2, micro_batches, 1};
      while (!Validate(shape).ok()) ++shape.virtual_pipeline_group;
      EXPECT_EQ(LeastPipelineGroup(pipeline, micro_batches),
                shape.virtual_pipeline_group);
    }
  }
}

TEST(ScheduleOf, TakesFewMicroBatchesAsOneGroup) {
  const PipelineShape shape = {.pipeline_parallel = 4,
                               .virtual_stages = 2,
                               .micro_batches = 2,
                               .virtual_pipeline_group = 2};
  for (const uint32_t rank : {0U, 1U, 2U}) {
    EXPECT_EQ(Written(ScheduleOf(shape, rank)), "F0a F1a F0b F1b B0b B1b B0a B1a");
  }
  EXPECT_EQ(Written(ScheduleOf(shape, 3)), "F0a F1a F0b B0b F1b B1b B0a B1a");
}

TEST(ScheduleOf, OfOneRankAlternatesOnceTheChunksArePassed) {
  EXPECT_EQ(Written(ScheduleOf({.micro_batches = 3}, 0)), "F0a B0a F1a B1a F2a B2a");
  EXPECT_EQ(Written(ScheduleOf({.virtual_stages = 3, .micro_batches = 2}, 0)),
            "F0a F0b F0c B0c F1a B0b F1b B0a F1c B1c B1b B1a");
}

TEST(ScheduleOf, IgnoresTheGroupWithoutInterleaving) {
  PipelineShape shape = {.pipeline_parallel = 3, .micro_batches = 6};
  for (const uint32_t group : {1U, 2U, 3U, 6U}) {
    PipelineShape other = shape;
    other.virtual_pipeline_group = group;
    for (uint32_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(ScheduleOf(other, rank), ScheduleOf(shape, rank)) << group;
    }
  }
}

TEST(ScheduleOf, WarmsUpUntilTheFirstBackwardPassCanArrive) {
  const struct {
    PipelineShape shape;
    uint32_t rank;
    size_t forwards;  // the warm-up's, and the one before the first backward pass
  } cases[] = {
      {{4, 1, 8, 1}, 0, 4},   {{4, 1, 8, 1}, 3, 1},    {{4, 1, 2, 1}, 0, 2},
      {{4, 2, 8, 4}, 0, 11},  {{4, 2, 8, 4}, 1, 9},    {{4, 2, 8, 4}, 3, 5},
      {{4, 3, 12, 6}, 0, 19}, {{4, 3, 12, 6}, 3, 13},  {{4, 2, 4, 4}, 0, 8},
      {{8, 4, 16, 8}, 0, 39}, {{8, 4, 16, 16}, 0, 63}, {{8, 4, 16, 16}, 7, 49},
      {{1, 4, 16, 4}, 0, 13},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(LeadingForwards(ScheduleOf(c.shape, c.rank)), c.forwards)
        << c.shape.pipeline_parallel << " ranks, " << c.shape.virtual_stages
        << " chunks, rank " << c.rank;
  }
}

// Megatron-LM counts virtual micro-batches and computes of each its micro-batch and
// chunk.
TEST(ScheduleOf, AgreesWithIndexArithmetic) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 500; ++round) {
    const PipelineShape shape = RandomShape(random);
    if (shape.virtual_stages == 1) continue;
    const uint32_t group = shape.virtual_pipeline_group;
    const uint32_t span = group * shape.virtual_stages;
    for (uint32_t rank = 0; rank < shape.pipeline_parallel; ++rank) {
      uint32_t forwards = 0;
      uint32_t backwards = 0;
      for (const ChunkPass& pass : ScheduleOf(shape, rank)) {
        const bool forward = pass.pass == Pass::kForward;
        const uint32_t index = forward ? forwards++ : backwards++;
        const uint32_t chunk = index % span / group;
        ASSERT_EQ(pass.micro_batch, index / span * group + index % group);
        ASSERT_EQ(pass.chunk, forward ? chunk : shape.virtual_stages - 1 - chunk);
      }
    }
  }
}

TEST(ScheduleOf, HasEveryPassOnceAndBackwardAfterForward) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 1000; ++round) {
    const PipelineShape shape = RandomShape(random);
    ASSERT_TRUE(Validate(shape).ok()) << Validate(shape);
    const size_t passes = size_t{shape.micro_batches} * shape.virtual_stages;
    for (uint32_t rank = 0; rank < shape.pipeline_parallel; ++rank) {
      std::map<std::pair<uint32_t, uint32_t>, int> seen;
      const std::vector<ChunkPass> schedule = ScheduleOf(shape, rank);
      ASSERT_EQ(schedule.size(), 2 * passes);
      for (const ChunkPass& pass : schedule) {
        ASSERT_LT(pass.micro_batch, shape.micro_batches);
        ASSERT_LT(pass.chunk, shape.virtual_stages);
        int& state = seen[{pass.micro_batch, pass.chunk}];
        ASSERT_EQ(state, pass.pass == Pass::kForward ? 0 : 1);
        ++state;
      }
      ASSERT_EQ(seen.size(), passes);
    }
  }
}

// What 1F1B is for: rank s keeps the activations of at most PP - s micro-batches.
TEST(ScheduleOf, KeepsFewMicroBatchesInFlight) {
  const PipelineShape shape = {.pipeline_parallel = 5, .micro_batches = 20};
  for (uint32_t rank = 0; rank < 5; ++rank) {
    uint32_t in_flight = 0;
    uint32_t most = 0;
    for (const ChunkPass& pass : ScheduleOf(shape, rank)) {
      in_flight += pass.pass == Pass::kForward ? 1U : -1U;
      most = std::max(most, in_flight);
    }
    EXPECT_EQ(most, 5 - rank);
  }
}

TEST(ValidatePipelineShape, AcceptsWhatMegatronRuns) {
  for (const PipelineShape& shape :
       {PipelineShape{}, PipelineShape{4, 1, 1, 1}, PipelineShape{4, 1, 6, 3},
        PipelineShape{4, 2, 8, 4}, PipelineShape{4, 2, 10, 5},
        PipelineShape{4, 2, 8, 8}, PipelineShape{4, 2, 3, 3}, PipelineShape{8, 4, 1, 1},
        PipelineShape{1, 4, 7, 1}, PipelineShape{1024, 1, 512, 1},
        PipelineShape{1, 1024, 512, 512}, PipelineShape{1024, 512, 1, 1}}) {
    EXPECT_TRUE(Validate(shape).ok()) << Validate(shape);
  }
}

TEST(ValidatePipelineShape, RefusesEachBadField) {
  const struct {
    PipelineShape shape;
    const char* field;
    const char* value;
    const char* accepted;
  } cases[] = {
      {{0, 1, 1, 1}, "pipeline_parallel", "0", "1 to 1024"},
      {{1025, 1, 1, 1}, "pipeline_parallel", "1025", "1 to 1024"},
      {{1, 0, 1, 1}, "virtual_stages", "0", "1 to 1024"},
      {{1, 1025, 1, 1}, "virtual_stages", "1025", "1 to 1024"},
      {{1024, 513, 1, 1},
       "virtual_stages",
       "513",
       "1 to 512, as pipeline_parallel is 1024"},
      {{1, 1, 0, 1}, "micro_batches", "0", "1 to 524288"},
      {{1, 1, 524'289, 1}, "micro_batches", "524289", "1 to 524288"},
      {{16, 4, 8193, 16}, "micro_batches", "8193", "1 to 8192"},
      {{4, 1, 8, 0}, "virtual_pipeline_group", "0", "a divisor of the 8 micro-batches"},
      {{4, 1, 8, 3}, "virtual_pipeline_group", "3", "a divisor of the 8 micro-batches"},
      {{4, 1, 8, 16}, "virtual_pipeline_group", "16", "a divisor of the 8"},
      {{4, 2, 8, 2},
       "virtual_pipeline_group",
       "2",
       "at least 4, the lesser of pipeline_parallel and the micro-batches"},
      {{4, 2, 8, 1}, "virtual_pipeline_group", "1", "as virtual_stages is 2"},
      {{4, 2, 2, 1}, "virtual_pipeline_group", "1", "at least 2"},
  };
  for (const auto& c : cases) {
    EXPECT_THAT(Validate(c.shape), RefusesField(c.field, c.value, c.accepted));
  }
}

}  // namespace
}  // namespace evenpack
