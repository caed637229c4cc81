#include "gpu_worker/cudnn/call_heads.h"

#include <algorithm>
#include <cstddef>

#include "gpu_worker/attention/bytes_after.h"

namespace evenpack::worker {

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

uint64_t BackwardWorkspace(const AttentionCall& call, uint64_t keys) {
  uint64_t queries = 0;
  for (const AttentionTask& task : call.tasks) {
    queries = std::max<uint64_t>(queries, task.query_row + (task.end - task.begin));
  }
  const size_t all_heads = call.query.stride;
  return queries * all_heads * sizeof(float) +
         2 * keys * call.shape.query_row() * sizeof(float);
}

}  // namespace evenpack::worker
