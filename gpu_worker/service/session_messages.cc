#include "gpu_worker/service/session_messages.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/wire_digest.h"
#include "evenpack/v1/worker_service.pb.h"
#include "gpu_worker/executor/pass_memory.h"
#include "gpu_worker/service/shape_messages.h"
#include "server/core/document/invalid_field.h"

namespace evenpack::worker {
namespace {

constexpr uint32_t kDefaultHeadGroups = 4;
constexpr size_t kMostMemberBytes = 256;
// What others' subscriptions of the rank don't take over, nor this one theirs.
constexpr char kSubscriber[] = "evenpack-worker";

absl::StatusOr<std::optional<Digest128>> DigestOf(const std::string& bytes) {
  if (bytes.empty()) return std::optional<Digest128>();
  const std::optional<std::vector<Digest128>> read = client::ReadDigests(bytes);
  if (!read.has_value() || read->size() != 1) {
    return InvalidField("last_digest", absl::StrCat(bytes.size(), " bytes"),
                        "16 bytes, or none");
  }
  return std::optional<Digest128>(read->front());
}

// Bytes of a row, whatever its tensors' alignment.
PassMemory RowMemory(const AttentionShape& shape) {
  constexpr uint64_t kRows = 64;
  const PassMemory of_rows = TensorMemoryOf(shape, kRows);
  return {of_rows.forward / kRows, of_rows.backward / kRows};
}

}  // namespace

absl::StatusOr<SessionRequest> FromMessage(const v1::OpenSessionRequest& message) {
  SessionRequest request;
  request.steps.job = message.job();
  request.steps.dp_rank = message.dp_rank();
  request.steps.cp_rank = message.cp_rank();
  request.steps.subscriber = kSubscriber;
  // The trainer's own subscription does.
  request.steps.reports_waits = false;
  request.steps.from_step = message.from_step();
  absl::StatusOr<std::optional<Digest128>> digest = DigestOf(message.last_digest());
  if (!digest.ok()) return digest.status();
  request.steps.last_digest = *std::move(digest);
  request.member = message.member();
  absl::Status status = CheckBytes("member", request.member, 1, kMostMemberBytes);
  if (!status.ok()) return status;
  absl::StatusOr<AttentionShape> shape = FromMessage(message.shape());
  if (!shape.ok()) return shape.status();
  request.shape = *shape;
  request.head_groups =
      message.head_groups() == 0 ? kDefaultHeadGroups : message.head_groups();
  status = CheckRange("head_groups", request.head_groups, 1, kMaxHeads);
  if (!status.ok()) return status;
  return request;
}

void ToMessage(const OpenedSession& session, const AttentionShape& shape,
               v1::OpenSessionResponse& message) {
  message.set_cp_size(session.cp_size);
  message.set_scratch_bytes(session.scratch_bytes);
  const PassMemory row = RowMemory(shape);
  message.set_forward_bytes_per_row(row.forward);
  message.set_backward_bytes_per_row(row.backward);
}

void ToMessage(const SidecarStatus& status, v1::GetWorkerResponse& message) {
  if (status.trainer.has_value()) {
    message.set_trainer_process(static_cast<uint32_t>(status.trainer->process));
  }
  message.set_arena_bytes(status.arena_bytes);
  if (!status.session.has_value()) return;
  const SidecarStatus::Session& session = *status.session;
  v1::WorkerSession& to = *message.mutable_session();
  to.set_job(session.job);
  to.set_dp_rank(session.dp_rank);
  to.set_cp_rank(session.cp_rank);
  to.set_cp_size(session.cp_size);
  to.set_submissions(session.progress.submissions);
  if (session.progress.step.has_value()) to.set_step(*session.progress.step);
  to.set_step_ended(session.progress.ended);
  to.set_epoch(session.progress.epoch);
}

}  // namespace evenpack::worker
