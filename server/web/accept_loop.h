// Accepts connections where descriptors may run out.
//
// A connection that gets one of the process's last descriptors is closed at once: what
// is served goes on, all else has those that are left, and clients that try again get
// in when others have gone (docs/adr/0060).
#ifndef EVENPACK_SERVER_WEB_ACCEPT_LOOP_H_
#define EVENPACK_SERVER_WEB_ACCEPT_LOOP_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "server/runtime/file_descriptor.h"
#include "server/runtime/log_budget.h"

namespace evenpack {

struct AcceptLoopOptions {
  // A connection that doesn't block, in the loop's thread.
  std::function<void(FileDescriptor connection)> take;
  // Asked before some are accepted: for how long none is to be. Null: never.
  std::function<std::chrono::milliseconds()> pause = {};
  // Descriptors that connections leave to all else, of a process that may have 1,024 or
  // more; of one that may have fewer in proportion.
  uint64_t reserved_descriptors = 128;
};

// Not thread-safe.
class AcceptLoop {
 public:
  // Errors are the system's, which has no descriptor for it.
  static absl::StatusOr<std::unique_ptr<AcceptLoop>> Create(AcceptLoopOptions options);
  ~AcceptLoop() { Stop(); }
  AcceptLoop(const AcceptLoop&) = delete;
  AcceptLoop& operator=(const AcceptLoop&) = delete;

  // Once. Of sockets that listen and don't block, and stay open until Stop.
  void Start(std::vector<int> listening);
  // None is taken any more. May be called again.
  void Stop();

 private:
  AcceptLoop(AcceptLoopOptions options, FileDescriptor wakeup);

  void Run();
  // How long none is to be accepted then.
  std::chrono::milliseconds AcceptSome(int listening);
  void Take(FileDescriptor connection);
  void Refused(const char* why);

  const AcceptLoopOptions options_;
  const FileDescriptor wakeup_;
  std::vector<int> listening_;
  // Of lines about connections that are refused.
  LogBudget refusals_;
  std::thread thread_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_WEB_ACCEPT_LOOP_H_
