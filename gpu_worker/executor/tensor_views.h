// Parts of a rank's tensors that some KV heads are in.
#ifndef EVENPACK_GPU_WORKER_EXECUTOR_TENSOR_VIEWS_H_
#define EVENPACK_GPU_WORKER_EXECUTOR_TENSOR_VIEWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu_worker/attention/attention_engine.h"
#include "gpu_worker/attention/attention_shape.h"
#include "gpu_worker/attention/bytes_after.h"

namespace evenpack::worker {

// KV heads one after another, with the query heads that attend to them.
struct HeadRange {
  uint32_t begin = 0;
  uint32_t count = 0;
};

// All heads in as many groups, but no more than there are heads, of sizes that differ
// by one at most.
std::vector<HeadRange> HeadGroups(const AttentionShape& shape, uint32_t groups);

// Some heads of a shape.
class HeadView {
 public:
  HeadView(const AttentionShape& shape, const HeadRange& heads)
      : shape_(shape), heads_(heads) {}

  // The shape that has no other heads.
  AttentionShape shape() const;
  // Elements of a row of keys, of these heads and before them.
  size_t kv_row() const { return size_t{heads_.count} * shape_.head_size; }
  size_t kv_column() const { return size_t{heads_.begin} * shape_.head_size; }

  // Of tensors that hold all heads.
  Rows Queries(const void* rows) const {
    return {BytesAfter(rows, query_column() * BytesOf(shape_.type)),
            shape_.query_row()};
  }
  MutableRows Queries(void* rows) const {
    return {BytesAfter(rows, query_column() * BytesOf(shape_.type)),
            shape_.query_row()};
  }
  Rows Keys(const void* rows) const {
    return {BytesAfter(rows, kv_column() * BytesOf(shape_.type)), shape_.kv_row()};
  }
  FloatRows LogSumExp(float* rows) const {
    const size_t column = size_t{heads_.begin} * shape_.group_size();
    return {rows == nullptr ? nullptr : rows + column, shape_.query_heads};
  }

 private:
  size_t query_column() const { return kv_column() * shape_.group_size(); }

  const AttentionShape& shape_;
  const HeadRange heads_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_EXECUTOR_TENSOR_VIEWS_H_
