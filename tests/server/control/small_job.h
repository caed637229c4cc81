// The job of this room's tests.
#ifndef EVENPACK_TESTS_SERVER_CONTROL_SMALL_JOB_H_
#define EVENPACK_TESTS_SERVER_CONTROL_SMALL_JOB_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "server/core/engine/job_spec.h"
#include "tests/testing/test_documents.h"
#include "tests/testing/test_job.h"

namespace evenpack::testing {

// 2 DP ranks with 2 micro-batches each, a window of 100 tokens, the policy original,
// one stream "a": a step for every 8 documents of 50 tokens.
inline JobSpec SmallJob() {
  JobSpec spec = MakeSpec(PolicyKind::kOriginal, 4, 100);
  spec.data_parallel = 2;
  return spec;
}

// With outlier queues from 60 and 100 tokens.
inline JobSpec OutlierJob() {
  JobSpec spec = SmallJob();
  spec.policy.kind = PolicyKind::kWlb;
  spec.policy.queue_thresholds = {60, 100};
  return spec;
}

// The documents of so many of its steps.
inline std::vector<uint32_t> StepsOfDocuments(size_t steps) {
  return std::vector<uint32_t>(steps * 8, 50);
}

// Uniform from 1 to 140 tokens.
inline std::vector<uint32_t> RandomLengths(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> lengths(count);
  for (uint32_t& length : lengths) length = Draw(random, 1, 140);
  return lengths;
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_CONTROL_SMALL_JOB_H_
