// Valid pipeline shapes and times of their micro-batches, drawn at random.
#ifndef EVENPACK_TESTS_SERVER_CORE_PIPELINE_RANDOM_SHAPE_H_
#define EVENPACK_TESTS_SERVER_CORE_PIPELINE_RANDOM_SHAPE_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "server/core/pipeline/pipeline_schedule.h"
#include "server/core/pipeline/pipeline_time.h"

namespace evenpack::testing {

inline uint32_t Draw(std::mt19937_64& random, uint32_t least, uint32_t most) {
  return least + static_cast<uint32_t>(random() % (uint64_t{most} - least + 1));
}

// Up to 8 ranks of up to 4 chunks; fewer micro-batches than ranks among them, groups of
// fewer and of more micro-batches than ranks.
inline PipelineShape RandomShape(std::mt19937_64& random) {
  PipelineShape shape;
  shape.pipeline_parallel = Draw(random, 1, 8);
  shape.virtual_stages = Draw(random, 1, 4);
  shape.virtual_pipeline_group = Draw(random, 1, 12);
  const bool small = shape.virtual_stages > 1 &&
                     shape.virtual_pipeline_group < shape.pipeline_parallel;
  shape.micro_batches = shape.virtual_pipeline_group * (small ? 1 : Draw(random, 1, 4));
  return shape;
}

// Of a pass of a few nanoseconds, so that ends coincide; one in four takes none.
inline int64_t RandomNs(std::mt19937_64& random) {
  return Draw(random, 0, 3) == 0 ? 0 : Draw(random, 1, 40);
}

inline std::vector<PassTime> RandomTimes(std::mt19937_64& random, uint32_t count) {
  std::vector<PassTime> times;
  for (uint32_t i = 0; i < count; ++i) {
    times.push_back({.forward_ns = RandomNs(random),
                     .backward_ns = RandomNs(random),
                     .head_forward_ns = RandomNs(random),
                     .head_backward_ns = RandomNs(random),
                     .send_ns = RandomNs(random)});
  }
  return times;
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_CORE_PIPELINE_RANDOM_SHAPE_H_
