// Which of a pass's exchanges is which.
#ifndef EVENPACK_GPU_WORKER_EXECUTOR_EXCHANGE_FORM_H_
#define EVENPACK_GPU_WORKER_EXECUTOR_EXCHANGE_FORM_H_

#include <cstdint>

#include "gpu_worker/executor/prepared_micro_batch.h"
#include "gpu_worker/executor/tensor_views.h"

namespace evenpack::worker {

enum class ExchangeUse : uint8_t {
  kKeysForward = 1,
  kKeysBackward = 2,
  kGradients = 3,
};

// Exchange::form: never 0, and another for another use, shape, first of the exchanged
// heads, micro-batch or plan. How many heads they are shows in the rows' bytes.
uint64_t FormOf(const PreparedMicroBatch& prepared, const HeadView& heads,
                ExchangeUse use);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_EXECUTOR_EXCHANGE_FORM_H_
