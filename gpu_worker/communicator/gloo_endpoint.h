// A context-parallel group whose ranks are processes, over Gloo and TCP: for the
// processor, and wherever there is no NCCL.
#ifndef EVENPACK_GPU_WORKER_COMMUNICATOR_GLOO_ENDPOINT_H_
#define EVENPACK_GPU_WORKER_COMMUNICATOR_GLOO_ENDPOINT_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "gpu_worker/communicator/endpoint.h"

namespace evenpack::worker {

struct GlooOptions {
  // Of 1 to 1,024 ranks.
  uint32_t rank = 0;
  uint32_t ranks = 1;
  // The address that peers reach this rank at.
  std::string host = "127.0.0.1";
  // How long the ranks wait for each other, each to connect to one other, and in an
  // exchange.
  std::chrono::milliseconds connect_timeout = std::chrono::minutes(1);
  std::chrono::milliseconds exchange_timeout = std::chrono::minutes(10);
};

// Listens on a port of its own. INVALID_ARGUMENT: a number out of range. UNAVAILABLE:
// the host can't be used.
//
// Where a peer ends while others connect to it, their Connect is UNAVAILABLE.
absl::StatusOr<std::unique_ptr<Endpoint>> OpenGlooEndpoint(const GlooOptions& options);
// `options` say all but rank and ranks.
OpenEndpointOf GlooEndpoints(const GlooOptions& options);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_COMMUNICATOR_GLOO_ENDPOINT_H_
