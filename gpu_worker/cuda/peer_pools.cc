#include "gpu_worker/cuda/peer_pools.h"

#include "absl/strings/str_cat.h"

namespace evenpack::worker {

PeerPools& PeerPools::All() {
  static auto& all = *new PeerPools;
  return all;
}

absl::Status PeerPools::Open(const Pool& pool, int device) {
  const CudaContext& context = *pool.context;
  if (device == context.device()) return absl::OkStatus();
  const CurrentContext current(context);
  const cuda::Functions& call = context.functions();
  int can_reach = 0;
  absl::Status status =
      context.Check(call.cuDeviceCanAccessPeer(&can_reach, device, context.device()),
                    absl::StrCat("to tell whether device ", device, " can reach it"));
  if (!status.ok() || can_reach == 0) return status;
  cuda::AccessDescription access;
  access.location_id = device;
  return context.Check(call.cuMemPoolSetAccess(pool.handle, &access, 1),
                       absl::StrCat("to open its memory to device ", device));
}

absl::Status PeerPools::Add(const CudaContext& context, cuda::MemoryPool pool) {
  MutexLock lock(mutex_);
  const Pool added = {&context, pool};
  absl::Status status;
  for (const Pool& other : pools_) {
    if (status.ok()) status = Open(added, other.context->device());
    if (status.ok()) status = Open(other, context.device());
  }
  if (status.ok()) pools_.push_back(added);
  return status;
}

void PeerPools::Remove(cuda::MemoryPool pool) {
  MutexLock lock(mutex_);
  std::erase_if(pools_, [pool](const Pool& each) { return each.handle == pool; });
}

}  // namespace evenpack::worker
