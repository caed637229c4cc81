// Memory of a device that is taken and given back in the order of a stream.
#ifndef EVENPACK_GPU_WORKER_CUDA_CUDA_MEMORY_H_
#define EVENPACK_GPU_WORKER_CUDA_CUDA_MEMORY_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "gpu_worker/cuda/cuda_context.h"
#include "server/runtime/mutex.h"

namespace evenpack::worker {

class CudaMemory;

// Uninitialised, and given back in the order of its stream when it goes.
class CudaBuffer {
 public:
  CudaBuffer() = default;
  ~CudaBuffer() { Free(); }
  CudaBuffer(CudaBuffer&& other) noexcept { *this = std::move(other); }
  CudaBuffer& operator=(CudaBuffer&& other) noexcept;
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;

  // Null where it has no bytes.
  void* data() const;
  size_t size() const { return bytes_; }

 private:
  friend class CudaMemory;

  void Free();

  std::shared_ptr<CudaMemory> memory_;
  cuda::DevicePointer pointer_ = 0;
  size_t bytes_ = 0;
  cuda::Stream stream_ = nullptr;
};

// A pool of its own, which keeps what is given back until it goes: taking memory costs
// a microsecond and no synchronisation. Devices of the process's other pools may read
// and write it (peer_pools.h). Thread-safe.
class CudaMemory : public std::enable_shared_from_this<CudaMemory> {
 public:
  // `budget`: bytes that may be in use at once.
  static absl::StatusOr<std::shared_ptr<CudaMemory>> Create(
      std::shared_ptr<const CudaContext> context, size_t budget);
  ~CudaMemory();
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;

  // For what `stream` is given from now on. RESOURCE_EXHAUSTED naming the sizes: it
  // would exceed the budget, or the device has no more.
  absl::StatusOr<CudaBuffer> Take(size_t bytes, cuda::Stream stream);

  size_t bytes_in_use() const;

 private:
  friend class CudaBuffer;

  CudaMemory(std::shared_ptr<const CudaContext> context, cuda::MemoryPool pool,
             size_t budget);

  absl::Status Reserve(size_t bytes);
  void Release(size_t bytes);

  const std::shared_ptr<const CudaContext> context_;
  cuda::MemoryPool pool_;
  const size_t budget_;
  mutable Mutex mutex_;
  size_t in_use_ EVENPACK_GUARDED_BY(mutex_) = 0;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_CUDA_CUDA_MEMORY_H_
