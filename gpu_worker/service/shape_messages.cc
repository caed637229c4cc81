#include "gpu_worker/service/shape_messages.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "evenpack/v1/worker_service.pb.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::worker {
namespace {

constexpr std::pair<v1::ElementType, ElementType> kTypes[] = {
    {v1::ELEMENT_TYPE_FLOAT32, ElementType::kFloat32},
    {v1::ELEMENT_TYPE_BFLOAT16, ElementType::kBfloat16},
    {v1::ELEMENT_TYPE_FLOAT16, ElementType::kFloat16}};

}  // namespace

absl::StatusOr<AttentionShape> FromMessage(const v1::AttentionShape& message) {
  AttentionShape shape;
  const auto* const found =
      std::find_if(std::begin(kTypes), std::end(kTypes),
                   [&](const auto& type) { return type.first == message.type(); });
  if (found == std::end(kTypes)) {
    return InvalidField("shape.type", static_cast<int>(message.type()),
                        "ELEMENT_TYPE_FLOAT32, _BFLOAT16 or _FLOAT16");
  }
  shape.type = found->second;
  shape.query_heads = message.query_heads();
  shape.kv_heads = message.kv_heads();
  shape.head_size = message.head_size();
  shape.scale = message.scale();
  shape.sliding_window = message.sliding_window();
  if (absl::Status status = Check(shape); !status.ok()) return status;
  return shape;
}

void ToMessage(const AttentionShape& shape, v1::AttentionShape& message) {
  for (const auto& [type, of] : kTypes) {
    if (of == shape.type) message.set_type(type);
  }
  message.set_query_heads(shape.query_heads);
  message.set_kv_heads(shape.kv_heads);
  message.set_head_size(shape.head_size);
  message.set_scale(shape.scale);
  message.set_sliding_window(shape.sliding_window);
}

}  // namespace evenpack::worker
