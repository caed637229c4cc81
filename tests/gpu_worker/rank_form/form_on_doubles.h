// A rank on the doubles of the driver, of NCCL and of cuDNN's plans.
#ifndef EVENPACK_TESTS_GPU_WORKER_RANK_FORM_FORM_ON_DOUBLES_H_
#define EVENPACK_TESTS_GPU_WORKER_RANK_FORM_FORM_ON_DOUBLES_H_

#include <memory>

#include "gpu_worker/rank_form/rank_form.h"
#include "tests/gpu_worker/cudnn/rank_on_doubles.h"

namespace evenpack::testing {

inline std::unique_ptr<worker::RankForm> FormOnDoubles(
    const worker::NcclTiming& timing) {
  return worker::OnCuda(
             {.rank = RankOnDoubles(), .group = timing, .nccl = EVENPACK_FAKE_NCCL})
      .value();
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_RANK_FORM_FORM_ON_DOUBLES_H_
