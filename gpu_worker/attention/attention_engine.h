// What computes attention: the kernels behind one interface.
//
// Tensors are THD: a row for each token, in it the heads, in each head its elements. A
// call may be for some of the heads: then a view begins at the first of them, and its
// stride is that of all.
#ifndef EVENPACK_GPU_WORKER_ATTENTION_ATTENTION_ENGINE_H_
#define EVENPACK_GPU_WORKER_ATTENTION_ATTENTION_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "gpu_worker/attention/attention_shape.h"

namespace evenpack::worker {

// Where the keys lie that a slice's queries see.
enum class KeyPlacement {
  // In the rank's own rows and in received ones, in as many runs as it takes.
  kWhereTheyAre,
  // In one run: the rank's own are copied among the received ones where they must be.
  kTogether,
};

// Keys (and values) of a document that lie in rows one after another.
struct KeyRun {
  // Position of the first within its document.
  uint32_t position = 0;
  uint32_t count = 0;
  // Of the first.
  uint64_t row = 0;
  // In the rows that came from other ranks, and copies of the rank's own, rather than
  // in the rank's own.
  bool received = false;

  friend bool operator==(const KeyRun&, const KeyRun&) = default;
};

// One slice: the queries at positions begin to end - 1 of a document.
struct AttentionTask {
  uint32_t document = 0;
  uint32_t begin = 0;
  uint32_t end = 0;
  // Of the query at `begin`; the others follow.
  uint64_t query_row = 0;
  // All that the slice's queries see, in rising position and without gaps: from
  // FirstKey(begin) to end - 1.
  std::vector<KeyRun> keys;
};

// Rows of tensors whose elements are of the shape's type; strides in elements.
struct Rows {
  const void* data = nullptr;
  size_t stride = 0;
};
struct MutableRows {
  void* data = nullptr;
  size_t stride = 0;
};
struct FloatRows {
  float* data = nullptr;
  size_t stride = 0;
};

struct AttentionCall {
  // Its heads are those of the call.
  AttentionShape shape;
  // Documents that rise within a run of tasks may come again in a later one, as the
  // front and back slices of a rank do.
  std::span<const AttentionTask> tasks;
  Rows query;
  Rows own_key;
  Rows own_value;
  Rows received_key;
  Rows received_value;
};

struct ForwardResult {
  // Rows as the queries have.
  MutableRows output;
  // Natural log of the sum of exponentials of the scaled scores: a number for each
  // query row and head.
  FloatRows log_sum_exp;
};

struct BackwardInput {
  // As the forward pass gave them.
  Rows output;
  FloatRows log_sum_exp;
  Rows output_gradient;
};

// Gradients of keys and values where an engine has computed them
// (gpu_worker/device/key_gradients.h).
struct KeyGradients;

struct BackwardResult {
  MutableRows query_gradient;
  // Sums are added to what these hold. Rows as the keys have.
  FloatRows own_key_gradient;
  FloatRows own_value_gradient;
  FloatRows received_key_gradient;
  FloatRows received_value_gradient;
  // Where an engine that leaves_key_gradients() appends them; those sums are null then.
  std::vector<KeyGradients>* key_gradients = nullptr;
};

// Not thread-safe: one call at a time. Rows that are in no task are neither read nor
// written. Arguments are as the executor makes them and are not checked.
class AttentionEngine {
 public:
  virtual ~AttentionEngine() = default;

  // Whether its calls may be of this shape. INVALID_ARGUMENT naming the field, its
  // value and what is accepted.
  virtual absl::Status CheckShape(const AttentionShape& shape) const {
    return Check(shape);
  }
  // What its calls' tasks must be like.
  virtual KeyPlacement key_placement() const { return KeyPlacement::kWhereTheyAre; }
  // Whether gradients of keys and values are left where they were computed, rather than
  // added to sums. Only with kTogether.
  virtual bool leaves_key_gradients() const { return false; }
  virtual absl::Status Forward(const AttentionCall& call,
                               const ForwardResult& result) = 0;
  virtual absl::Status Backward(const AttentionCall& call, const BackwardInput& input,
                                const BackwardResult& result) = 0;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ATTENTION_ATTENTION_ENGINE_H_
