// Exchanges of a group whose ranks read each other's tensors.
#ifndef EVENPACK_GPU_WORKER_COMMUNICATOR_EXCHANGE_BOARD_H_
#define EVENPACK_GPU_WORKER_COMMUNICATOR_EXCHANGE_BOARD_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "gpu_worker/communicator/communicator.h"
#include "server/runtime/mutex.h"

namespace evenpack::worker {

// What every rank has begun, for the others to read. Ranks number their exchanges
// alike. Thread-safe.
class ExchangeBoard {
 public:
  // `timeout`: how long a rank waits for a peer to begin an exchange.
  ExchangeBoard(uint32_t ranks, std::chrono::nanoseconds timeout);

  uint32_t ranks() const { return ranks_; }

  // What its tensors and rows are in must stay until Finish.
  void Post(uint32_t rank, uint64_t number, const Exchange& exchange);
  // The peer's exchange, which it keeps until EndRead, where it is on the rank's terms
  // (exchange_terms.h); none once the group is aborted, which it is otherwise.
  std::optional<Exchange> BeginRead(uint32_t peer, uint64_t number, uint32_t rank,
                                    const Exchange& to);
  void EndRead(uint32_t peer, uint64_t number);
  // The rank has read all peers', or gave it up.
  void EndReceive(uint32_t rank, uint64_t number);
  // Blocks until nobody reads or writes the exchange's memory. Why the group was
  // aborted, where it was.
  absl::Status Finish(uint32_t rank, uint64_t number);

  // The first reason counts.
  void Abort(const absl::Status& reason);
  // OK unless it was.
  absl::Status reason() const;

 private:
  struct Posted {
    Exchange exchange;
    // Peers that have not read it yet, and that are doing so.
    uint32_t unread = 0;
    uint32_t reading = 0;
    // The rank itself is still receiving.
    bool receiving = true;
  };

  void SetReason(const absl::Status& reason) EVENPACK_REQUIRES(mutex_);

  const uint32_t ranks_;
  const std::chrono::nanoseconds timeout_;
  mutable Mutex mutex_;
  CondVar changed_;
  // By rank and number.
  std::vector<std::map<uint64_t, Posted>> posted_ EVENPACK_GUARDED_BY(mutex_);
  absl::Status reason_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_COMMUNICATOR_EXCHANGE_BOARD_H_
