// Rows on their way to a peer, or from it, some at a time.
#ifndef EVENPACK_GPU_WORKER_COMMUNICATOR_ROW_PARCEL_H_
#define EVENPACK_GPU_WORKER_COMMUNICATOR_ROW_PARCEL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu_worker/communicator/communicator.h"

namespace evenpack::worker {

// The rows of all tensors, one after another: of each tensor those that are under way.
// How many these are follows from the exchange's tensors and row_bytes, and from
// `most_bytes`, so that both ends find the same. Not thread-safe.
class RowParcel {
 public:
  // `ranges`: of the rows that travel, in their order. Takes at most `most_bytes`, or a
  // row of each tensor. Both must outlive it.
  RowParcel(const Exchange& exchange, const std::vector<RowRange>& ranges,
            size_t most_bytes);

  // Whether no row is left.
  bool IsDone() const { return first_ == rows_; }
  // Whether all rows travel at once.
  bool IsWhole() const { return rows_ <= rows_at_once_; }
  // Of the rows under way.
  char* data() { return memory_.data(); }
  size_t bytes() const { return count() * bytes_of_row_; }

  // From where the tensors have them, and to where they go.
  void Pack();
  void Unpack();
  // Those are there; the next ones are under way, if there are any.
  void Next() { first_ += count(); }

 private:
  uint64_t count() const;
  // As a tensor.
  ExchangedTensor Packed(size_t tensor);

  const Exchange& exchange_;
  const std::vector<RowRange>& ranges_;
  const size_t bytes_of_row_;
  const uint64_t rows_;
  const uint64_t rows_at_once_;
  uint64_t first_ = 0;
  std::vector<char> memory_;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_COMMUNICATOR_ROW_PARCEL_H_
