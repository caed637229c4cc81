// Shapes of attention as the worker's API has them, and back.
#ifndef EVENPACK_GPU_WORKER_SERVICE_SHAPE_MESSAGES_H_
#define EVENPACK_GPU_WORKER_SERVICE_SHAPE_MESSAGES_H_

#include "absl/status/statusor.h"
#include "gpu_worker/attention/attention_shape.h"

namespace evenpack::v1 {
class AttentionShape;
}

namespace evenpack::worker {

// INVALID_ARGUMENT naming the field.
absl::StatusOr<AttentionShape> FromMessage(const v1::AttentionShape& message);
void ToMessage(const AttentionShape& shape, v1::AttentionShape& message);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SERVICE_SHAPE_MESSAGES_H_
