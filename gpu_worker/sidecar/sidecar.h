// One trainer's worker, as its sockets see it: who is attached, and the session that it
// has opened.
#ifndef EVENPACK_GPU_WORKER_SIDECAR_SIDECAR_H_
#define EVENPACK_GPU_WORKER_SIDECAR_SIDECAR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/client.h"
#include "gpu_worker/attach/attach_listener.h"
#include "gpu_worker/sidecar/host_sidecar_form.h"
#include "gpu_worker/sidecar/sidecar_form.h"
#include "gpu_worker/sidecar/worker_session.h"
#include "server/runtime/clock.h"
#include "server/runtime/mutex.h"

namespace evenpack::worker {

struct SidecarOptions {
  // Where it computes.
  std::shared_ptr<const SidecarForm> form = std::make_shared<HostSidecarForm>();
  // How long each session's group waits for a lost rank.
  std::chrono::nanoseconds patience = kDefaultPatience;
  // What arena and passes may take together, where it computes.
  uint64_t memory_bytes = 0;
};

// What a trainer asks for.
struct SessionRequest {
  // RankWorkerOptions' other members are the sidecar's.
  client::ConsumerOptions steps = {};
  std::string member = {};
  AttentionShape shape = {};
  uint32_t head_groups = 4;
};

struct OpenedSession {
  uint32_t cp_size = 0;
  uint64_t scratch_bytes = 0;
};

struct SidecarStatus {
  std::optional<AttachedTrainer> trainer;
  uint64_t arena_bytes = 0;
  // Of the session that is open, as it was opened.
  struct Session {
    std::string job;
    uint32_t dp_rank = 0;
    uint32_t cp_rank = 0;
    uint32_t cp_size = 0;
    RingProgress progress;
  };
  std::optional<Session> session;
  // Work and losses of all sessions, those that have ended among them; the rest of the
  // one that is open.
  RankFigures figures;
};

// Thread-safe.
class Sidecar final : public AttachHandler {
 public:
  // `client` is of the packing server.
  Sidecar(client::Client client, SidecarOptions options)
      : client_(std::move(client)), options_(std::move(options)) {}

  void OnAttached(const AttachedTrainer& trainer,
                  std::shared_ptr<Arena> arena) override;
  void OnDetached() override;

  // Once for an arena. PERMISSION_DENIED: the token is not that of the trainer that is
  // attached. FAILED_PRECONDITION: the arena has a session, or had one. UNAVAILABLE:
  // the trainer has gone meanwhile, or the worker ends. RESOURCE_EXHAUSTED: the system
  // has no memory or threads left. Errors of WorkerSession::Open. After these two one
  // may try again.
  absl::StatusOr<OpenedSession> OpenSession(const std::string& token,
                                            const SessionRequest& request);
  // PERMISSION_DENIED likewise.
  absl::Status CloseSession(const std::string& token);

  const SidecarOptions& options() const { return options_; }
  SidecarStatus status() const;

 private:
  absl::Status CheckToken(const std::string& token) const EVENPACK_REQUIRES(mutex_);
  struct Opening {
    std::shared_ptr<Arena> arena;
    uint64_t scratch_bytes = 0;
    std::stop_token stop;
  };
  absl::StatusOr<Opening> BeginOpening(const std::string& token);
  absl::StatusOr<std::unique_ptr<WorkerSession>> NewSession(
      const SessionRequest& request, const Opening& opening);
  absl::StatusOr<OpenedSession> EndOpening(
      absl::StatusOr<std::unique_ptr<WorkerSession>> session);
  // A session's end, which counts in closing_, however it is left.
  class Closing;
  uint64_t ScratchBytes() const EVENPACK_REQUIRES(mutex_);
  // The one that is open, if there is one, for its end.
  std::unique_ptr<WorkerSession> TakeSession() EVENPACK_REQUIRES(mutex_);

  client::Client client_;
  const SidecarOptions options_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::optional<AttachedTrainer> trainer_ EVENPACK_GUARDED_BY(mutex_);
  std::shared_ptr<Arena> arena_ EVENPACK_GUARDED_BY(mutex_);
  // While a session is being opened: its end is asked for by it.
  std::optional<std::stop_source> opening_ EVENPACK_GUARDED_BY(mutex_);
  std::unique_ptr<WorkerSession> session_ EVENPACK_GUARDED_BY(mutex_);
  // Calls that end a session: another trainer is let in once they have.
  uint32_t closing_ EVENPACK_GUARDED_BY(mutex_) = 0;
  // Of sessions that were taken.
  ExecutedWork ended_work_ EVENPACK_GUARDED_BY(mutex_);
  uint64_t ended_losses_ EVENPACK_GUARDED_BY(mutex_) = 0;
  // The arena has a session, or had one: what is submitted in it counts on.
  bool used_ EVENPACK_GUARDED_BY(mutex_) = false;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_SIDECAR_SIDECAR_H_
