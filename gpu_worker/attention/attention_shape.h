// What attention computes, apart from lengths.
#ifndef EVENPACK_GPU_WORKER_ATTENTION_ATTENTION_SHAPE_H_
#define EVENPACK_GPU_WORKER_ATTENTION_ATTENTION_SHAPE_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "gpu_worker/attention/element_type.h"

namespace evenpack::worker {

inline constexpr uint32_t kMaxHeads = 1024;

// Causal attention with grouped queries: query head h attends to KV head
// h / (query_heads / kv_heads).
struct AttentionShape {
  ElementType type = ElementType::kFloat32;
  // 1 to kMaxHeads, a multiple of kv_heads.
  uint32_t query_heads = 1;
  uint32_t kv_heads = 1;
  // 64, 128, 192 or 256.
  uint32_t head_size = 64;
  // What scores are multiplied by; 0 is 1 / sqrt(head_size).
  float scale = 0;
  // A query at position p sees the keys at p - sliding_window + 1 to p; 0: all up to p.
  uint32_t sliding_window = 0;

  uint32_t group_size() const { return query_heads / kv_heads; }
  float Scale() const;
  // Elements of a token's row.
  size_t query_row() const { return size_t{query_heads} * head_size; }
  size_t kv_row() const { return size_t{kv_heads} * head_size; }
  // The first position that a query at `position` sees.
  uint32_t FirstKey(uint32_t position) const {
    return sliding_window == 0 || position < sliding_window
               ? 0
               : position - sliding_window + 1;
  }

  friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

// INVALID_ARGUMENT naming the field, its value and what is accepted.
absl::Status Check(const AttentionShape& shape);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ATTENTION_ATTENTION_SHAPE_H_
