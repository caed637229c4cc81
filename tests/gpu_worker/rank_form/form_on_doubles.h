// A rank on the doubles of the driver, of NCCL and of cuDNN's plans.
#ifndef EVENPACK_TESTS_GPU_WORKER_RANK_FORM_FORM_ON_DOUBLES_H_
#define EVENPACK_TESTS_GPU_WORKER_RANK_FORM_FORM_ON_DOUBLES_H_

#include <memory>
#include <utility>

#include "gpu_worker/rank_form/rank_form.h"
#include "tests/gpu_worker/cuda/fake_device.h"
#include "tests/gpu_worker/cudnn/fake_planner.h"

namespace evenpack::testing {

inline worker::CudaRankOptions RankOnDoubles() {
  worker::CudaRankOptions options;
  options.driver = EVENPACK_FAKE_CUDA;
  options.kernels = kFakeImage;
  options.open_planner = [](std::shared_ptr<const worker::CudaContext> context) {
    return std::make_unique<FakePlanner>(std::move(context));
  };
  return options;
}

inline std::unique_ptr<worker::RankForm> FormOnDoubles(
    const worker::NcclTiming& timing) {
  return worker::OnCuda(
             {.rank = RankOnDoubles(), .group = timing, .nccl = EVENPACK_FAKE_NCCL})
      .value();
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_RANK_FORM_FORM_ON_DOUBLES_H_
