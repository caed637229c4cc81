#include "gpu_worker/executor/pass_memory.h"

#include <algorithm>

#include "gpu_worker/executor/tensor_views.h"

namespace evenpack::worker {
namespace {

constexpr uint64_t kTensorsOfKeysAndValues = 2;

// Of two groups one after another, the larger ones: elements of a row.
uint64_t RowOfTwoGroups(const AttentionShape& shape, uint32_t head_groups) {
  uint64_t heads = 0;
  uint64_t before = 0;
  for (const HeadRange& group : HeadGroups(shape, head_groups)) {
    heads = std::max(heads, before + group.count);
    before = group.count;
  }
  return heads * shape.head_size;
}

uint64_t Aligned(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

PassMemory MemoryOf(const PreparedMicroBatch& prepared, uint32_t head_groups) {
  const AttentionShape& shape = prepared.shape;
  const KvLayout& layout = prepared.layout;
  const uint64_t row = RowOfTwoGroups(shape, head_groups);
  PassMemory memory;
  // Copies of own rows are among the received ones also where nothing travels.
  memory.forward =
      kTensorsOfKeysAndValues * layout.received_rows * row * BytesOf(shape.type);
  memory.backward = kTensorsOfKeysAndValues *
                    (layout.received_rows + prepared.returned_rows) * row *
                    sizeof(float);
  memory.backward += memory.forward + kTensorsOfKeysAndValues * layout.own_rows *
                                          shape.kv_row() * sizeof(float);
  return memory;
}

PassMemory TensorMemoryOf(const AttentionShape& shape, uint64_t held_rows) {
  const uint64_t query = Aligned(held_rows * shape.query_row() * BytesOf(shape.type));
  const uint64_t key = Aligned(held_rows * shape.kv_row() * BytesOf(shape.type));
  PassMemory memory;
  memory.forward =
      2 * query + 2 * key + Aligned(held_rows * shape.query_heads * sizeof(float));
  memory.backward = 2 * query + 2 * key;
  return memory;
}

}  // namespace evenpack::worker
