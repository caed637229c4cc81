// A job spec of the API for tests.
#ifndef EVENPACK_TESTS_SERVER_SERVICE_SERVICE_SPEC_H_
#define EVENPACK_TESTS_SERVER_SERVICE_SERVICE_SPEC_H_

#include <evenpack/v1/job.pb.h>

#include <string>

namespace evenpack::testing {

// 2 DP ranks with 2 micro-batches each, 2 CP ranks, a window of 100 tokens, the policy
// original, one stream "a": a step for every 8 documents of 50 tokens.
inline v1::JobSpec ServiceSpec() {
  v1::JobSpec spec;
  spec.add_streams()->set_name("a");
  spec.mutable_parallelism()->set_data(2);
  spec.mutable_parallelism()->set_micro_batches_per_rank(2);
  spec.mutable_parallelism()->set_context(2);
  spec.set_window(100);
  spec.set_max_length(150);
  spec.mutable_policy()->mutable_original();
  return spec;
}

// Likewise with as many streams of as long names as may be: a job of it is told of in
// somewhat more than half a MiB.
inline v1::JobSpec LargeSpec() {
  v1::JobSpec spec = ServiceSpec();
  for (int i = 1; i < 1024; ++i) {
    const std::string number = std::to_string(i);
    spec.add_streams()->set_name(number + std::string(256 - number.size(), 's'));
  }
  return spec;
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_SERVICE_SERVICE_SPEC_H_
