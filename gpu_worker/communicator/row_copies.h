// Rows between a tensor and others' memory.
#ifndef EVENPACK_GPU_WORKER_COMMUNICATOR_ROW_COPIES_H_
#define EVENPACK_GPU_WORKER_COMMUNICATOR_ROW_COPIES_H_

#include <cstddef>
#include <vector>

#include "gpu_worker/communicator/communicator.h"

namespace evenpack::worker {

// Copies `row_bytes` of each sent row of `from` to the received rows of `to`; both
// lists have as many rows.
void CopyRows(const ExchangedTensor& from, const std::vector<RowRange>& sent,
              const ExchangedTensor& to, const std::vector<RowRange>& received,
              size_t row_bytes);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_COMMUNICATOR_ROW_COPIES_H_
