#include "gpu_worker/attention/attention_shape.h"

#include <cmath>

#include "server/core/document/invalid_field.h"

namespace evenpack::worker {

float AttentionShape::Scale() const {
  return scale != 0 ? scale : 1 / std::sqrt(static_cast<float>(head_size));
}

absl::Status Check(const AttentionShape& shape) {
  absl::Status status =
      CheckRange<uint32_t>("query_heads", shape.query_heads, 1, kMaxHeads);
  if (status.ok()) {
    status = CheckRange<uint32_t>("kv_heads", shape.kv_heads, 1, shape.query_heads);
  }
  if (!status.ok()) return status;
  if (shape.query_heads % shape.kv_heads != 0) {
    return InvalidField("kv_heads", shape.kv_heads,
                        absl::StrCat("a divisor of query_heads, ", shape.query_heads));
  }
  if (shape.head_size % 64 != 0 || shape.head_size < 64 || shape.head_size > 256) {
    return InvalidField("head_size", shape.head_size, "64, 128, 192 or 256");
  }
  if (!std::isfinite(shape.scale) || shape.scale < 0) {
    return InvalidField("scale", shape.scale,
                        "a positive number, or 0 for 1 / sqrt(head_size)");
  }
  return absl::OkStatus();
}

}  // namespace evenpack::worker
