// The flags of evenpack-worker.
#ifndef EVENPACK_GPU_WORKER_APP_WORKER_OPTIONS_H_
#define EVENPACK_GPU_WORKER_APP_WORKER_OPTIONS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cpp/security.h"
#include "gpu_worker/app/agent_flags.h"
#include "gpu_worker/app/profile_flags.h"
#include "gpu_worker/app/serve_flags.h"
#include "gpu_worker/communicator/gloo_folder.h"
#include "gpu_worker/selftest/selftest.h"

namespace evenpack::worker {

// Documented by --help, which has their bounds too.
struct WorkerOptions {
  bool selftest = false;
  SelftestOptions selftest_options;
  // Of each rank's engine.
  uint32_t threads = 1;
  // The CUDA device that a selftest or profile is of, or a sidecar computes on, among
  // those that the process sees; none: the processor.
  std::optional<int> cuda_device;
  bool json = false;
  // Of a group of processes: how peers reach this rank, and how long they wait.
  std::string host = "127.0.0.1";
  uint32_t group_timeout_seconds = 600;
  ServeOptions serve;
  AgentFlags agent;
  ProfileFlags profile;
  // Of the packing server, where one is reached.
  client::Security security;
  // The group of processes that this one is a rank of; none: all ranks are its threads.
  std::optional<GlooFolder> group;
};

struct WorkerCommand {
  // What --help or --version print; else empty.
  std::string text;
  WorkerOptions options;
};

// `arguments`: without the program's name. `variables`: client::SecurityVariables().
// INVALID_ARGUMENT naming flag, value and what is accepted.
absl::StatusOr<WorkerCommand> ReadWorkerCommand(
    const std::vector<std::string>& arguments,
    const std::map<std::string, std::string>& variables = {});

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_APP_WORKER_OPTIONS_H_
