// Gradients of keys and values on their way back to the rows' owners.
#ifndef EVENPACK_GPU_WORKER_EXECUTOR_GRADIENT_SUMS_H_
#define EVENPACK_GPU_WORKER_EXECUTOR_GRADIENT_SUMS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/executor/prepared_micro_batch.h"
#include "gpu_worker/executor/tensor_views.h"

namespace evenpack::worker {

// Single-precision sums, which begin at 0; a row for each row of keys.
class GradientSums {
 public:
  // `row`: elements of one.
  GradientSums(uint64_t rows, size_t row)
      : row_(row), key_(rows * row, 0.0F), value_(rows * row, 0.0F) {}

  size_t row() const { return row_; }
  const std::vector<float>& key() const { return key_; }
  const std::vector<float>& value() const { return value_; }
  // From this column on.
  FloatRows Keys(size_t column) { return View(key_, column); }
  FloatRows Values(size_t column) { return View(value_, column); }

 private:
  FloatRows View(std::vector<float>& sums, size_t column) const {
    return {sums.empty() ? nullptr : sums.data() + column, row_};
  }

  size_t row_;
  std::vector<float> key_;
  std::vector<float> value_;
};

// Those of received rows, of some heads.
class ReturnedGradients {
 public:
  ReturnedGradients(const PreparedMicroBatch& prepared, const HeadView& heads);

  // What a backward pass adds to.
  GradientSums& sums() { return sums_; }
  // Once that is complete.
  void Start(Communicator& communicator);
  // Adds what comes back from the peers, in their order, to the rank's own sums over
  // all heads. Waits for it.
  absl::Status AddTo(GradientSums& own);

 private:
  const PreparedMicroBatch& prepared_;
  const size_t column_;
  GradientSums sums_;
  GradientSums arrived_;
  std::unique_ptr<Transfer> transfer_;  // last, since it uses the others
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_EXECUTOR_GRADIENT_SUMS_H_
