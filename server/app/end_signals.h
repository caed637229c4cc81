// The signals that end a server, also one that is still starting: to open its store and
// read it may take long, and a database that hangs may never answer.
#ifndef EVENPACK_SERVER_APP_END_SIGNALS_H_
#define EVENPACK_SERVER_APP_END_SIGNALS_H_

#include <csignal>
#include <functional>
#include <string>
#include <thread>

#include "server/runtime/mutex.h"

namespace evenpack {

// Thread-safe.
class EndSignals {
 public:
  // Has this thread, and all that are started from it later, leave them to the object:
  // SIGTERM, SIGINT, and SIGHUP unless that is ignored, as nohup has it.
  static sigset_t Block();

  // `blocked`: as Block returned. `before_serving` runs where one comes before Serving,
  // which waits for it: to end the process.
  EndSignals(const sigset_t& blocked, std::function<void(int signal)> before_serving);
  ~EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  // From here on a signal is for Await.
  void Serving();
  // Returns the first one.
  int Await();

  // "SIGTERM".
  static std::string NameOf(int signal);

 private:
  void Run();

  const sigset_t signals_;
  const std::function<void(int)> before_serving_;
  Mutex mutex_;
  CondVar changed_;
  bool serving_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool ending_ EVENPACK_GUARDED_BY(mutex_) = false;
  // 0: none came.
  int signal_ EVENPACK_GUARDED_BY(mutex_) = 0;
  std::thread thread_;  // last, since it uses the others
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_APP_END_SIGNALS_H_
