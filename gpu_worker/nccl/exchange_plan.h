// An exchange as copies and messages: what is sent from where it lies, and what is
// packed first.
#ifndef EVENPACK_GPU_WORKER_NCCL_EXCHANGE_PLAN_H_
#define EVENPACK_GPU_WORKER_NCCL_EXCHANGE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/communicator/row_copies.h"

namespace evenpack::worker {

// The rows of a tensor for a peer, or from it.
struct Message {
  uint32_t peer = 0;
  void* data = nullptr;
  size_t bytes = 0;
};

// First the copies that pack, then all messages at once, then the copies that unpack.
// A pair of ranks has a message for each tensor, in the order of the tensors.
struct ExchangePlan {
  std::vector<RowCopy> pack;
  // Their data are only read.
  std::vector<Message> sends;
  std::vector<Message> receives;
  std::vector<RowCopy> unpack;
};

// Bytes that packed rows take.
size_t StagingBytes(const Exchange& exchange);

// `staging`: StagingBytes of memory, aligned as the largest element is.
ExchangePlan PlanExchange(const Exchange& exchange, void* staging);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_NCCL_EXCHANGE_PLAN_H_
