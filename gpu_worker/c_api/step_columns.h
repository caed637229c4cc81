// A step and its micro-batches as the C API shows them.
#ifndef EVENPACK_GPU_WORKER_C_API_STEP_COLUMNS_H_
#define EVENPACK_GPU_WORKER_C_API_STEP_COLUMNS_H_

#include <cstdint>
#include <vector>

#include "client/cpp/rank_step.h"
#include "gpu_worker/c_api/evenpack_worker.h"

namespace evenpack::worker {

// All but struct_size.
void ShowStep(const client::RankStep& step, EvenpackStep& shown);

// A micro-batch of one CP rank, whose pointers point at these.
struct MicroBatchColumns {
  std::vector<EvenpackDocument> documents;
  std::vector<EvenpackSlice> slices;
  uint64_t tokens = 0;
  uint64_t padding = 0;
};

MicroBatchColumns ColumnsOf(const client::MicroBatchView& view, uint32_t cp_rank);

// All but struct_size. `view` and its columns must outlive what is shown, and columns
// stay as they are: they are shown again each time that the micro-batch is asked for.
void ShowMicroBatch(const client::MicroBatchView& view,
                    const MicroBatchColumns& columns, EvenpackMicroBatch& shown);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_C_API_STEP_COLUMNS_H_
