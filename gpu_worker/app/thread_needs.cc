#include "gpu_worker/app/thread_needs.h"

#include "client/agent/waiting_threads.h"

namespace evenpack::worker {
namespace {

// Of gRPC, of ports, and of one thread for each connection of a group of processes.
constexpr size_t kOthers = 32;

// Ranks that are threads of the process, each with an engine.
size_t Ranks(const WorkerOptions& options) {
  if (options.group.has_value()) return 1;
  if (options.selftest) return options.selftest_options.max_ranks;
  return options.profile.profile ? options.profile.ranks : 1;
}

}  // namespace

size_t ThreadsNeeded(const WorkerOptions& options) {
  if (options.agent.agent) {
    return static_cast<size_t>(agent::kWaitingThreads) + kOthers;
  }
  const size_t of_rank = options.cuda_device.has_value() ? 1 : options.threads;
  return Ranks(options) * of_rank + kOthers;
}

}  // namespace evenpack::worker
