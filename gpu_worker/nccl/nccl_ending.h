// The end of NCCL's part in a connection, which may take as long as peers do.
#ifndef EVENPACK_GPU_WORKER_NCCL_NCCL_ENDING_H_
#define EVENPACK_GPU_WORKER_NCCL_NCCL_ENDING_H_

#include <memory>

#include "gpu_worker/cuda/cuda_context.h"
#include "gpu_worker/nccl/nccl_library.h"
#include "gpu_worker/nccl/nccl_timing.h"
#include "server/runtime/clock.h"

namespace evenpack::worker {

// A communicator of NCCL, and what it needs while it ends.
struct NcclHandle {
  std::shared_ptr<const NcclLibrary> library;
  // Of its device; current while it ends.
  std::shared_ptr<const CudaContext> context;
  nccl::Communicator communicator = nullptr;
};

enum class NcclEnd {
  kAbort,
  kDestroy,  // was finalized
};

// Returns once NCCL has ended it, or at `until`. NCCL then goes on in a thread of its
// own, which keeps the handle: either call may take until all processes of the host
// that have connected to the rank end theirs (docs/adr/0156). What an abort tells the
// device it tells it at once.
void EndNccl(NcclHandle handle, NcclEnd end, const NcclTiming& timing,
             Clock::TimePoint until);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_NCCL_NCCL_ENDING_H_
