// A context-parallel group whose ranks are threads of one process.
#ifndef EVENPACK_GPU_WORKER_COMMUNICATOR_LOCAL_GROUP_H_
#define EVENPACK_GPU_WORKER_COMMUNICATOR_LOCAL_GROUP_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/communicator/exchange_board.h"

namespace evenpack::worker {

struct LocalGroupOptions {
  // How long an exchange waits for a peer to begin it. The group is aborted then.
  std::chrono::nanoseconds timeout = std::chrono::minutes(10);
  // Bytes that a rank receives in a second at most, to measure as if there were a
  // network; 0: as fast as memory.
  double bytes_per_second = 0;
};

// Each rank has a thread that copies what it receives straight out of the peers'
// tensors, so that exchanges go on while the rank computes.
class LocalGroup {
 public:
  // 1 to 1,024 ranks.
  explicit LocalGroup(uint32_t ranks, const LocalGroupOptions& options = {});
  // Each of the communicators must be gone or idle.
  ~LocalGroup();
  LocalGroup(const LocalGroup&) = delete;
  LocalGroup& operator=(const LocalGroup&) = delete;

  Communicator& OfRank(uint32_t rank);

 private:
  class Member;

  std::unique_ptr<ExchangeBoard> board_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_COMMUNICATOR_LOCAL_GROUP_H_
