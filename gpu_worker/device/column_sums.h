// Sums of rows whose terms have some of the columns each.
#ifndef EVENPACK_GPU_WORKER_DEVICE_COLUMN_SUMS_H_
#define EVENPACK_GPU_WORKER_DEVICE_COLUMN_SUMS_H_

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "gpu_worker/device/device.h"
#include "gpu_worker/device/row_sums.h"

namespace evenpack::worker {

struct ColumnTerm {
  // Its rows begin at the column `begin` of the sums.
  RowTerm term;
  size_t begin = 0;
  // One past the last.
  size_t end = 0;
};

// As Device::SumRows, once for all columns that are of the same terms. Errors of the
// device.
absl::Status SumColumns(std::span<const ColumnTerm> terms, const RowSums& sums,
                        Device& device);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_DEVICE_COLUMN_SUMS_H_
