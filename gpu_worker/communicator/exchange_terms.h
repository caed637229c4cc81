// What two ranks must have alike to send each other rows.
#ifndef EVENPACK_GPU_WORKER_COMMUNICATOR_EXCHANGE_TERMS_H_
#define EVENPACK_GPU_WORKER_COMMUNICATOR_EXCHANGE_TERMS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gpu_worker/communicator/communicator.h"

namespace evenpack::worker {

// A rank's of an exchange with a peer. Told as they are in memory.
struct ExchangeTerms {
  uint64_t step = 0;
  uint64_t form = 0;
  uint64_t tensors = 0;
  uint64_t row_bytes = 0;
  // Rows of each tensor, to the peer and from it.
  uint64_t sent = 0;
  uint64_t received = 0;
  // How many exchanges the rank has begun before, those without rows for the peer too;
  // 0 where ranks begin each of them together.
  uint64_t number = 0;

  // Whether there is anything to tell the peer of; in the same exchange the peer finds
  // so, too.
  bool has_rows() const { return sent > 0 || received > 0; }
};

ExchangeTerms TermsWith(uint32_t peer, const Exchange& exchange, uint64_t number = 0);

// FAILED_PRECONDITION: the rank would take the peer's rows for what they aren't, or the
// peer the rank's.
absl::Status CheckTerms(uint32_t rank, const ExchangeTerms& mine, uint32_t peer,
                        const ExchangeTerms& theirs);

// FAILED_PRECONDITION, with what is accepted: what the ranks of a group do differs so.
absl::Status PassesDiffer(absl::string_view how);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_COMMUNICATOR_EXCHANGE_TERMS_H_
