// Where a rank computes.
#ifndef EVENPACK_GPU_WORKER_CUDA_CUDA_WORKPLACE_H_
#define EVENPACK_GPU_WORKER_CUDA_CUDA_WORKPLACE_H_

#include <memory>

#include "gpu_worker/cuda/cuda_context.h"
#include "gpu_worker/cuda/cuda_memory.h"

namespace evenpack::worker {

// The stream must outlive whatever computes in it.
struct CudaWorkplace {
  std::shared_ptr<const CudaContext> context;
  // For what is needed beside the tensors: rows that are packed, what a call takes.
  std::shared_ptr<CudaMemory> memory;
  cuda::Stream compute = nullptr;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDA_CUDA_WORKPLACE_H_
