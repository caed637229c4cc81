#include "gpu_worker/cuda/cuda_memory.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu_worker/cuda/peer_pools.h"

namespace evenpack::worker {

CudaBuffer& CudaBuffer::operator=(CudaBuffer&& other) noexcept {
  if (this == &other) return *this;
  Free();
  memory_ = std::move(other.memory_);
  pointer_ = std::exchange(other.pointer_, 0);
  bytes_ = std::exchange(other.bytes_, 0);
  stream_ = other.stream_;
  return *this;
}

void* CudaBuffer::data() const {
  // The driver's addresses are those of the process.
  return reinterpret_cast<void*>(pointer_);  // NOLINT(performance-no-int-to-ptr)
}

void CudaBuffer::Free() {
  if (memory_ == nullptr) return;
  const CurrentContext current(*memory_->context_);
  memory_->context_->functions().cuMemFreeAsync(pointer_, stream_);
  memory_->Release(bytes_);
  memory_ = nullptr;
}

CudaMemory::CudaMemory(std::shared_ptr<const CudaContext> context,
                       cuda::MemoryPool pool, size_t budget)
    : context_(std::move(context)), pool_(pool), budget_(budget) {}

CudaMemory::~CudaMemory() {
  PeerPools::All().Remove(pool_);
  const CurrentContext current(*context_);
  context_->functions().cuMemPoolDestroy(pool_);
}

absl::StatusOr<std::shared_ptr<CudaMemory>> CudaMemory::Create(
    std::shared_ptr<const CudaContext> context, size_t budget) {
  const CurrentContext current(*context);
  const cuda::Functions& call = context->functions();
  cuda::PoolProperties properties;
  properties.location_id = context->device();
  cuda::MemoryPool pool = nullptr;
  absl::Status status = context->Check(call.cuMemPoolCreate(&pool, &properties),
                                       "to make a pool of memory");
  if (!status.ok()) return status;
  uint64_t kept = std::numeric_limits<uint64_t>::max();
  status = context->Check(
      call.cuMemPoolSetAttribute(pool, cuda::kPoolReleaseThreshold, &kept),
      "to keep memory in a pool");
  // Gives the pool back where that failed.
  std::shared_ptr<CudaMemory> memory(new CudaMemory(std::move(context), pool, budget));
  if (status.ok()) status = PeerPools::All().Add(*memory->context_, pool);
  if (!status.ok()) return status;
  return memory;
}

absl::Status CudaMemory::Reserve(size_t bytes) {
  MutexLock lock(mutex_);
  if (bytes > budget_ - in_use_) {
    return absl::ResourceExhaustedError(
        absl::StrCat(bytes, " bytes of the device were asked for where ", in_use_,
                     " of a budget of ", budget_, " are in use"));
  }
  in_use_ += bytes;
  return absl::OkStatus();
}

void CudaMemory::Release(size_t bytes) {
  MutexLock lock(mutex_);
  in_use_ -= bytes;
}

size_t CudaMemory::bytes_in_use() const {
  MutexLock lock(mutex_);
  return in_use_;
}

absl::StatusOr<CudaBuffer> CudaMemory::Take(size_t bytes, cuda::Stream stream) {
  CudaBuffer buffer;
  if (bytes == 0) return buffer;
  if (absl::Status status = Reserve(bytes); !status.ok()) return status;
  const CurrentContext current(*context_);
  const cuda::Result result = context_->functions().cuMemAllocFromPoolAsync(
      &buffer.pointer_, bytes, pool_, stream);
  if (result != cuda::kSuccess) {
    Release(bytes);
    return context_->Check(
        result, absl::StrCat("to give ", bytes, " bytes beside the ", bytes_in_use(),
                             " in use of a budget of ", budget_));
  }
  buffer.memory_ = shared_from_this();
  buffer.bytes_ = bytes;
  buffer.stream_ = stream;
  return buffer;
}

}  // namespace evenpack::worker
