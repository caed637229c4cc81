// A rank on the doubles of the driver and of cuDNN's plans.
#ifndef EVENPACK_TESTS_GPU_WORKER_CUDNN_RANK_ON_DOUBLES_H_
#define EVENPACK_TESTS_GPU_WORKER_CUDNN_RANK_ON_DOUBLES_H_

#include <memory>
#include <utility>

#include "gpu_worker/cudnn/cuda_rank.h"
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

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_CUDNN_RANK_ON_DOUBLES_H_
