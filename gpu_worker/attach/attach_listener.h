// Gives the trainer that attaches an arena, and notices when it is gone.
#ifndef EVENPACK_GPU_WORKER_ATTACH_ATTACH_LISTENER_H_
#define EVENPACK_GPU_WORKER_ATTACH_ATTACH_LISTENER_H_

#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/arena/arena.h"
#include "gpu_worker/attach/attach_message.h"
#include "server/runtime/clock.h"
#include "server/runtime/log_budget.h"

namespace evenpack::worker {

// The trainer's process as the system knows it.
struct AttachedTrainer {
  pid_t process = 0;
  uid_t user = 0;
  AttachToken token = {};
};

// Called from the listener's thread, one call at a time.
class AttachHandler {
 public:
  virtual ~AttachHandler() = default;
  // A trainer has this arena. There is none attached before.
  virtual void OnAttached(const AttachedTrainer& trainer,
                          std::shared_ptr<Arena> arena) = 0;
  // Its process is gone, whatever forks of it live, or has let go: what it had under
  // way is to end before this returns. Others are let in only then.
  virtual void OnDetached() = 0;
};

// The arenas of a worker. Called from the listener's thread.
struct ArenaMaker {
  ArenaKind kind = ArenaKind::kHost;
  // Largest arena.
  uint64_t max_bytes = 0;
  // Of so many bytes, or more where a device has it.
  std::function<absl::StatusOr<Arena>(uint64_t bytes)> make = [](uint64_t bytes) {
    return Arena::Create(bytes);
  };
};

struct AttachOptions {
  std::string path;
  // Whose processes may attach.
  uid_t user = 0;
  ArenaMaker arenas;
};

class AttachListener {
 public:
  // One trainer is attached at a time; others are refused while it lives. Errors of
  // ListenAt. `handler` must outlive the listener.
  static absl::StatusOr<std::unique_ptr<AttachListener>> Start(
      const AttachOptions& options, AttachHandler& handler);
  // Detaches who is attached, and removes the socket's file.
  ~AttachListener();
  AttachListener(const AttachListener&) = delete;
  AttachListener& operator=(const AttachListener&) = delete;

 private:
  AttachListener(AttachOptions options, AttachHandler& handler,
                 FileDescriptor listening, FileDescriptor stop);

  void Run();
  void Accept();
  // Refuses another user's process at once, whatever it would say: it is not waited
  // for.
  absl::StatusOr<ucred> CheckUser(int connection) const;
  void NoteRefused(const char* place, const absl::Status& why);
  // Of who asks over a new connection.
  absl::StatusOr<AttachedTrainer> Admit(const ucred& peer) const;
  absl::StatusOr<std::shared_ptr<Arena>> MakeArena(const AttachRequest& request) const;
  absl::Status Attach(FileDescriptor connection, const ucred& peer);
  bool TrainerIsGone() const;
  void Detach();

  const AttachOptions options_;
  AttachHandler& handler_;
  LogBudget refusals_{Clock::Steady()};
  const FileDescriptor listening_;
  const FileDescriptor stop_;
  // Of the trainer that is attached; none: -1.
  FileDescriptor connection_;
  // Its process, where the kernel tells of it; else -1.
  FileDescriptor process_;
  AttachedTrainer trainer_;

  std::thread thread_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_ATTACH_ATTACH_LISTENER_H_
