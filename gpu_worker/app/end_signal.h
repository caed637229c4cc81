// The signal that ends the worker.
#ifndef EVENPACK_GPU_WORKER_APP_END_SIGNAL_H_
#define EVENPACK_GPU_WORKER_APP_END_SIGNAL_H_

#include <chrono>

#include "absl/status/status.h"

namespace evenpack::worker {

// SIGTERM, SIGINT or SIGHUP, for the whole process; SIGHUP not where it is ignored, as
// nohup has it. A handler, since OpenBLAS has begun threads before main() could have
// had them leave signals alone.
class EndSignal {
 public:
  // From now on the signals end nothing by themselves. Once.
  static absl::Status Expect();
  // Returns once one has come, also before.
  static void Await();
  // Likewise, or false where none has come in this time, a day at most.
  static bool AwaitFor(std::chrono::milliseconds most);
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_APP_END_SIGNAL_H_
