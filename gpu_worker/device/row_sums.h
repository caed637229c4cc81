// Sums of rows of two tensors that lie alike, as keys and values do.
#ifndef EVENPACK_GPU_WORKER_DEVICE_ROW_SUMS_H_
#define EVENPACK_GPU_WORKER_DEVICE_ROW_SUMS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu_worker/attention/element_type.h"
#include "gpu_worker/communicator/communicator.h"

namespace evenpack::worker {

struct RowTerm {
  ElementType type = ElementType::kFloat32;
  // First rows.
  std::array<const void*, 2> tensors = {};
  // Bytes from row to row.
  size_t stride = 0;
  // From the term's rows to those of the sums: a row at least of each, rising in `to`,
  // and none to another's.
  std::span<const RowMove> moves;
};

// Where sums are written.
struct RowSums {
  ElementType type = ElementType::kFloat32;
  std::array<void*, 2> tensors = {};
  size_t stride = 0;
  // Elements of a row, of the terms' too.
  size_t columns = 0;
  // Less than 2^32.
  uint64_t rows = 0;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_DEVICE_ROW_SUMS_H_
