#include "gpu_worker/executor/exchange_form.h"

#include <cstddef>

namespace evenpack::worker {

uint64_t FormOf(const PreparedMicroBatch& prepared, const HeadView& heads,
                ExchangeUse use) {
  const AttentionShape& shape = prepared.shape;
  // Bits enough for all that Check(shape) accepts, and for 2^20 micro-batches.
  static_assert(kMaxHeads <= 1U << 11);
  uint64_t form = prepared.index;
  form = form << 19 | heads.kv_column();
  form = form << 9 | shape.head_size;
  form = form << 11 | shape.query_heads;
  form = form << 2 | static_cast<uint64_t>(shape.type);
  return form << 2 | static_cast<uint64_t>(use);
}

}  // namespace evenpack::worker
