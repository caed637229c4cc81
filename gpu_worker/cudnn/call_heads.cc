#include "gpu_worker/cudnn/call_heads.h"

#include <algorithm>
#include <cstddef>

#include "gpu_worker/attention/bytes_after.h"

namespace evenpack::worker {
namespace {

// Whatever heads the run has.
uint64_t OfQueries(const PlanShape& shape) {
  const int64_t row = shape.query_stride + shape.log_sum_exp_stride;
  return static_cast<uint64_t>(shape.all_queries * row) * sizeof(float);
}

// In proportion to the stride, which is that of the run's heads.
uint64_t OfKeys(const PlanShape& shape) {
  const uint32_t group = shape.attention.group_size();
  if (group == 1) return 0;
  const int64_t row = shape.key_gradient_stride * group;
  return static_cast<uint64_t>(2 * shape.all_keys * row) * sizeof(float);
}

}  // namespace

BackwardCall SomeHeads(const BackwardCall& of, uint32_t begin, uint32_t count) {
  const AttentionShape& shape = of.call.shape;
  BackwardCall some = of;
  some.call.shape.kv_heads = count;
  some.call.shape.query_heads = count * shape.group_size();
  const size_t key_column = size_t{begin} * shape.head_size;
  const size_t query_column = key_column * shape.group_size();
  const size_t element = BytesOf(shape.type);
  for (Rows* rows :
       {&some.call.query, &some.input.output, &some.input.output_gradient}) {
    rows->data = BytesAfter(rows->data, query_column * element);
  }
  some.result.query_gradient.data =
      BytesAfter(some.result.query_gradient.data, query_column * element);
  if (some.input.log_sum_exp.data != nullptr) {
    some.input.log_sum_exp.data += size_t{begin} * shape.group_size();
  }
  for (Rows* rows : {&some.call.own_key, &some.call.own_value, &some.call.received_key,
                     &some.call.received_value}) {
    rows->data = BytesAfter(rows->data, key_column * element);
  }
  return some;
}

uint64_t BackwardWorkspace(const PlanShape& shape) {
  return OfQueries(shape) + OfKeys(shape);
}

uint32_t HeadsAtOnce(const PlanShape& shape, uint64_t most) {
  const uint32_t heads = shape.attention.kv_heads;
  const uint64_t of_keys = OfKeys(shape);
  if (of_keys == 0 || BackwardWorkspace(shape) <= most) return heads;
  const uint64_t left = most - std::min(most, OfQueries(shape));
  return static_cast<uint32_t>(std::max<uint64_t>(1, heads * left / of_keys));
}

}  // namespace evenpack::worker
