#include "gpu_worker/executor/exchange_form.h"

#include <bit>

#include "server/core/digest/digest.h"

namespace evenpack::worker {

uint64_t FormOf(const PreparedMicroBatch& prepared, const HeadView& heads,
                ExchangeUse use) {
  const AttentionShape& shape = prepared.shape;
  DigestBuilder form;
  form.Word(static_cast<uint64_t>(use));
  form.Word(prepared.index);
  form.Add(prepared.plan);
  form.Word(heads.kv_column());
  form.Word(static_cast<uint64_t>(shape.type));
  form.Word(shape.query_heads);
  form.Word(shape.kv_heads);
  form.Word(shape.head_size);
  form.Word(std::bit_cast<uint32_t>(shape.Scale()));
  form.Word(shape.sliding_window);
  return form.Finish().low | 1;
}

}  // namespace evenpack::worker
