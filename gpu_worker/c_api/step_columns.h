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

// What a micro-batch's pointers point at.
struct MicroBatchColumns {
  std::vector<EvenpackDocument> documents;
  std::vector<EvenpackSlice> slices;
};

// Of this CP rank, all but struct_size. `view` and `columns`, which it fills, must
// outlive what is shown.
void ShowMicroBatch(const client::MicroBatchView& view, uint32_t cp_rank,
                    MicroBatchColumns& columns, EvenpackMicroBatch& shown);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_C_API_STEP_COLUMNS_H_
