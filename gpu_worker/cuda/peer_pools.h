// Pools of memory of several devices that a process computes on.
#ifndef EVENPACK_GPU_WORKER_CUDA_PEER_POOLS_H_
#define EVENPACK_GPU_WORKER_CUDA_PEER_POOLS_H_

#include <vector>

#include "absl/status/status.h"
#include "gpu_worker/cuda/cuda_context.h"
#include "server/runtime/mutex.h"

namespace evenpack::worker {

// Each is open to the devices of the others, where these can reach its own. The driver
// opens a pool to nobody by itself, and between devices of one process NCCL may read
// and write straight where a peer's rows lie (NCCL_P2P_DIRECT_DISABLE). Thread-safe.
class PeerPools {
 public:
  // The process's.
  static PeerPools& All();

  // `context` is the pool's device's, and lives until the pool is removed.
  absl::Status Add(const CudaContext& context, cuda::MemoryPool pool);
  void Remove(cuda::MemoryPool pool);

 private:
  struct Pool {
    const CudaContext* context = nullptr;
    cuda::MemoryPool handle = nullptr;
  };

  static absl::Status Open(const Pool& pool, int device);

  Mutex mutex_;
  std::vector<Pool> pools_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDA_PEER_POOLS_H_
