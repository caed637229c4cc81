// Rows between a tensor and others' memory.
#ifndef EVENPACK_GPU_WORKER_COMMUNICATOR_ROW_COPIES_H_
#define EVENPACK_GPU_WORKER_COMMUNICATOR_ROW_COPIES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu_worker/communicator/communicator.h"

namespace evenpack::worker {

// Rows from one place to another; strides in bytes.
struct RowCopy {
  const void* from = nullptr;
  size_t from_stride = 0;
  void* to = nullptr;
  size_t to_stride = 0;
  size_t row_bytes = 0;
  uint64_t rows = 0;
};

// Of the rows of `ranges`, which are at least first + count, those from the `first` on.
std::vector<RowRange> RowsWithin(const std::vector<RowRange>& ranges, uint64_t first,
                                 uint64_t count);

// Which of the sent rows becomes which of the received ones; both lists have as many.
std::vector<RowMove> MovesOf(const std::vector<RowRange>& sent,
                             const std::vector<RowRange>& received);

// By the rows that they go to.
void SortByTo(std::vector<RowMove>& moves);

// `row_bytes` of each row that is moved, from what `from` sends to what `to` receives,
// of each tensor.
std::vector<RowCopy> CopiesOf(std::span<const ExchangedTensor> from,
                              std::span<const ExchangedTensor> to,
                              std::span<const RowMove> moves, size_t row_bytes);

// The same, of a tensor's own rows, after what is there.
void AppendCopies(const ExchangedTensor& tensor, std::span<const RowMove> moves,
                  size_t row_bytes, std::vector<RowCopy>& copies);

// In this process's memory.
void CopyRows(std::span<const RowCopy> copies);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_COMMUNICATOR_ROW_COPIES_H_
