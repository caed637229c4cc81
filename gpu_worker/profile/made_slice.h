// A slice with made-up tensors: queries that end where the keys of their document end.
#ifndef EVENPACK_GPU_WORKER_PROFILE_MADE_SLICE_H_
#define EVENPACK_GPU_WORKER_PROFILE_MADE_SLICE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/attention/attention_shape.h"

namespace evenpack::worker {

// Not thread-safe.
class MadeSlice {
 public:
  // `shape` has passed Check; q_len <= kv_len. With 0 of both it is a launch without
  // work.
  MadeSlice(const AttentionShape& shape, uint32_t q_len, uint32_t kv_len);
  // Its call refers to its own tensors.
  MadeSlice(const MadeSlice&) = delete;
  MadeSlice& operator=(const MadeSlice&) = delete;

  absl::Status Forward(AttentionEngine& engine);
  // After Forward.
  absl::Status Backward(AttentionEngine& engine);

 private:
  FloatRows LogSumExp() { return {log_sum_exp_.data(), call_.shape.query_heads}; }

  std::vector<AttentionTask> tasks_;
  AttentionCall call_;
  std::vector<char> query_;
  std::vector<char> key_;
  std::vector<char> value_;
  std::vector<char> output_gradient_;
  std::vector<char> output_;
  std::vector<float> log_sum_exp_;
  std::vector<char> query_gradient_;
  std::vector<float> key_gradient_;
  std::vector<float> value_gradient_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_PROFILE_MADE_SLICE_H_
