// A context-parallel group whose ranks are processes, over Gloo and TCP: for the
// processor, and wherever there is no NCCL.
#ifndef EVENPACK_GPU_WORKER_COMMUNICATOR_GLOO_COMMUNICATOR_H_
#define EVENPACK_GPU_WORKER_COMMUNICATOR_GLOO_COMMUNICATOR_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gpu_worker/communicator/communicator.h"

namespace evenpack::worker {

struct GlooOptions {
  // Of 1 to 1,024 ranks.
  uint32_t rank = 0;
  uint32_t ranks = 1;
  // A folder that all ranks can write, where they find each other's addresses, and a
  // name that no other group has used there.
  std::string folder;
  std::string group;
  // The address that peers reach this rank at.
  std::string host = "127.0.0.1";
  // How long the ranks wait for each other, to connect and in an exchange.
  std::chrono::milliseconds timeout = std::chrono::minutes(10);
};

// Returns when all ranks are connected. INVALID_ARGUMENT: a number out of range.
// UNAVAILABLE: a rank did not come in time, or the folder or the host can't be used.
//
// Exchanges are carried out by a thread of their own, one after another: rows are
// packed for each peer and sent in one piece. A connection that breaks, or an abort,
// ends the exchanges of all ranks with UNAVAILABLE; the reason is told on the rank that
// gave it.
absl::StatusOr<std::unique_ptr<Communicator>> ConnectGloo(const GlooOptions& options);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_COMMUNICATOR_GLOO_COMMUNICATOR_H_
