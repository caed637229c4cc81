// Sessions as the worker's API has them, and back.
#ifndef EVENPACK_GPU_WORKER_SERVICE_SESSION_MESSAGES_H_
#define EVENPACK_GPU_WORKER_SERVICE_SESSION_MESSAGES_H_

#include "absl/status/statusor.h"
#include "gpu_worker/attention/attention_shape.h"
#include "gpu_worker/sidecar/sidecar.h"

namespace evenpack::v1 {
class GetWorkerResponse;
class OpenSessionRequest;
class OpenSessionResponse;
}  // namespace evenpack::v1

namespace evenpack::worker {

// INVALID_ARGUMENT naming the field.
absl::StatusOr<SessionRequest> FromMessage(const v1::OpenSessionRequest& message);

// Of a session of that shape.
void ToMessage(const OpenedSession& session, const AttentionShape& shape,
               v1::OpenSessionResponse& message);
void ToMessage(const SidecarStatus& status, v1::GetWorkerResponse& message);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SERVICE_SESSION_MESSAGES_H_
