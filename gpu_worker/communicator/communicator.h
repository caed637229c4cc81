// How the ranks of a context-parallel group send each other rows.
#ifndef EVENPACK_GPU_WORKER_COMMUNICATOR_COMMUNICATOR_H_
#define EVENPACK_GPU_WORKER_COMMUNICATOR_COMMUNICATOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"

namespace evenpack::worker {

// Rows one after another.
struct RowRange {
  uint64_t row = 0;
  uint64_t count = 0;

  friend bool operator==(const RowRange&, const RowRange&) = default;
};

// Rows one after another, and those that they go to.
struct RowMove {
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t count = 0;

  friend bool operator==(const RowMove&, const RowMove&) = default;
};

// Of all the ranges.
inline uint64_t RowsIn(const std::vector<RowRange>& ranges) {
  uint64_t rows = 0;
  for (const RowRange& range : ranges) rows += range.count;
  return rows;
}

// A tensor of which rows are sent, and the one that rows are received into. Strides in
// bytes, from row to row.
struct ExchangedTensor {
  const void* send = nullptr;
  size_t send_stride = 0;
  void* receive = nullptr;
  size_t receive_stride = 0;
};

// Every rank of the group takes part, each with its own.
struct Exchange {
  // The same rows of each, `row_bytes` of every row.
  std::vector<ExchangedTensor> tensors;
  size_t row_bytes = 0;
  // The same on all ranks, and another where rows mean something else, though they are
  // as many bytes. What it stands for is the caller's.
  uint64_t form = 0;
  // That the rows are of; the same on all ranks, 0 where they are of none.
  uint64_t step = 0;
  // By peer, in the order in which they travel: as many rows as the peer receives from
  // this rank, and as it sends to it. None for the rank itself. They must outlive the
  // exchange.
  const std::vector<std::vector<RowRange>>* send_rows = nullptr;
  const std::vector<std::vector<RowRange>>* receive_rows = nullptr;
};

// An exchange under way.
//
// Where the tensors are in a device's memory, transfers are ordered with what the
// device computes, and the host goes on: a transfer comes after what the compute stream
// was given before Start, and what it is given after Wait comes after the transfer.
// Wait tells the errors that are known by then. A later one shows at the next call, and
// in WaitForArrival: what was computed meanwhile is undefined then.
class Transfer {
 public:
  // Waits.
  virtual ~Transfer() = default;
  // Returns when all rows have arrived and the sent ones may be changed, or, on a
  // device, when that is ordered before what it is given next. ABORTED: the group was
  // aborted. UNAVAILABLE: a peer did not take part in time. FAILED_PRECONDITION, where
  // ranks tell each other (not over NCCL): a peer began another exchange. What was
  // received is undefined then.
  virtual absl::Status Wait() = 0;
  // Returns when all rows have arrived, wherever the tensors are. Errors likewise; OK:
  // all transfers that were started before have succeeded, too.
  virtual absl::Status WaitForArrival() { return Wait(); }
};

// One rank's end. All ranks start the same exchanges in the same order, each from one
// thread at a time.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual uint32_t rank() const = 0;
  virtual uint32_t size() const = 0;

  // The memory must stay until the transfer is waited for.
  virtual std::unique_ptr<Transfer> Start(const Exchange& exchange) = 0;
  // OK once all transfers that were waited for have arrived, wherever the tensors are.
  // Errors as Transfer::WaitForArrival.
  virtual absl::Status Settle() { return absl::OkStatus(); }
  // Ends all exchanges of the group, those to come too. From any thread.
  virtual void Abort(const absl::Status& reason) = 0;
  // None is under way, and those to come fail: what peers were sent may still be on its
  // way, and its destruction waits for that. Else as Abort. From any thread.
  virtual void Leave(const absl::Status& reason) { Abort(reason); }
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_COMMUNICATOR_COMMUNICATOR_H_
