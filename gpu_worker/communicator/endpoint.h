// One rank's end of a group that is to be connected.
#ifndef EVENPACK_GPU_WORKER_COMMUNICATOR_ENDPOINT_H_
#define EVENPACK_GPU_WORKER_COMMUNICATOR_ENDPOINT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gpu_worker/communicator/communicator.h"

namespace evenpack::worker {

// Not thread-safe, but for Cancel.
class Endpoint {
 public:
  virtual ~Endpoint() = default;

  // What its peers need to connect to it.
  virtual const std::string& address() const = 0;
  // Returns when this rank is connected to all others; they may still be connecting to
  // each other. Once. `addresses` are by rank, this one's among them.
  // INVALID_ARGUMENT: they are not those of such a group. FAILED_PRECONDITION: a peer
  // is of another version (exchange_version.h). UNAVAILABLE: a peer did not come in
  // time, or the system refused what connections take. CANCELLED: see below. May throw
  // what the standard library does.
  virtual absl::StatusOr<std::unique_ptr<Communicator>> Connect(
      const std::vector<std::string>& addresses) = 0;
  // Connect, now or later, no longer waits for peers.
  virtual void Cancel() = 0;
};

// Opens the ends of a rank in groups of so many: a new one for each epoch. Thread-safe.
using OpenEndpointOf = std::function<absl::StatusOr<std::unique_ptr<Endpoint>>(
    uint32_t rank, uint32_t ranks)>;

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_COMMUNICATOR_ENDPOINT_H_
