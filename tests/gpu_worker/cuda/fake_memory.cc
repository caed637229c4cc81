// The double's memory: pools, and what streams copy and set.
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "gpu_worker/cuda/cuda_abi.h"
#include "server/runtime/mutex.h"
#include "tests/gpu_worker/cuda/fake_calls.h"

namespace cuda = evenpack::worker::cuda;

namespace evenpack::worker::cuda {
struct MemoryPoolObject {};
}  // namespace evenpack::worker::cuda

using cuda::Result;
using evenpack::testing::Need;
using evenpack::testing::NeedContext;
using evenpack::testing::NeedStream;
using evenpack::testing::State;

namespace {

char* At(cuda::DevicePointer pointer) { return reinterpret_cast<char*>(pointer); }

// At this point of a stream.
bool Owned(const void* data, size_t bytes, const std::string& call) {
  if (State().memory().Owns(data, bytes)) return true;
  State().Note(call + ": memory that is not in use at this point of the stream");
  return false;
}

// Which devices may read and write what a pool has given.
class Pools {
 public:
  void Add(cuda::MemoryPool pool, int device) {
    const evenpack::MutexLock lock(mutex_);
    pools_[pool].devices.insert(device);
  }
  void Remove(cuda::MemoryPool pool) {
    const evenpack::MutexLock lock(mutex_);
    pools_.erase(pool);
  }
  void Open(cuda::MemoryPool pool, int device) { Add(pool, device); }
  void Give(cuda::MemoryPool pool, const void* data) {
    const evenpack::MutexLock lock(mutex_);
    pools_[pool].given.insert(data);
  }
  void TakeBack(const void* data) {
    const evenpack::MutexLock lock(mutex_);
    for (auto& [pool, of] : pools_) of.given.erase(data);
  }
  bool MayAccess(const void* data, int device) {
    const evenpack::MutexLock lock(mutex_);
    for (const auto& [pool, of] : pools_) {
      if (of.given.contains(data)) return of.devices.contains(device);
    }
    return false;
  }

 private:
  struct Of {
    std::set<int> devices;
    std::set<const void*> given;
  };

  evenpack::Mutex mutex_;
  std::map<cuda::MemoryPool, Of> pools_ EVENPACK_GUARDED_BY(mutex_);
};

Pools& ThePools() {
  static auto& pools = *new Pools;
  return pools;
}

size_t Span(size_t pitch, size_t width, size_t height) {
  return height == 0 ? 0 : (height - 1) * pitch + width;
}

}  // namespace

extern "C" {

bool fakeCudaMayAccess(const void* data, int device) {
  return ThePools().MayAccess(data, device);
}

Result cuMemPoolCreate(cuda::MemoryPool* pool, const cuda::PoolProperties* properties) {
  const Need need = NeedContext("cuMemPoolCreate");
  if (!need.IsMet()) return need.result;
  if (properties->allocation_type != cuda::kAllocationPinned ||
      properties->location_type != cuda::kLocationDevice) {
    return cuda::kInvalidValue;
  }
  *pool = new cuda::MemoryPoolObject;
  State().Add("pool", *pool);
  ThePools().Add(*pool, properties->location_id);
  return cuda::kSuccess;
}

Result cuMemPoolDestroy(cuda::MemoryPool pool) {
  if (!State().Remove("pool", pool, "cuMemPoolDestroy")) return cuda::kInvalidHandle;
  ThePools().Remove(pool);
  delete pool;
  return cuda::kSuccess;
}

Result cuMemPoolSetAttribute(cuda::MemoryPool pool, int, void*) {
  return State().Check("pool", pool, "cuMemPoolSetAttribute") ? cuda::kSuccess
                                                              : cuda::kInvalidHandle;
}

Result cuMemPoolSetAccess(cuda::MemoryPool pool, const cuda::AccessDescription* access,
                          size_t count) {
  const Need need = NeedContext("cuMemPoolSetAccess");
  if (!need.IsMet()) return need.result;
  if (!State().Check("pool", pool, "cuMemPoolSetAccess")) return cuda::kInvalidHandle;
  for (size_t i = 0; i < count; ++i) {
    if (access[i].location_type != cuda::kLocationDevice ||
        access[i].flags != cuda::kAccessReadWrite || !State().devices_are_connected()) {
      State().Note("cuMemPoolSetAccess: a device that can't reach it");
      return cuda::kInvalidValue;
    }
    ThePools().Open(pool, access[i].location_id);
  }
  return cuda::kSuccess;
}

Result cuMemAllocFromPoolAsync(cuda::DevicePointer* pointer, size_t bytes,
                               cuda::MemoryPool pool, cuda::Stream stream) {
  const Need need = NeedStream(stream, "cuMemAllocFromPoolAsync");
  if (!need.IsMet()) return need.result;
  if (bytes == 0 || !State().Check("pool", pool, "cuMemAllocFromPoolAsync")) {
    return cuda::kInvalidValue;
  }
  char* const data = State().memory().Take(bytes);
  if (data == nullptr) return cuda::kOutOfMemory;
  *pointer = reinterpret_cast<cuda::DevicePointer>(data);
  ThePools().Give(pool, data);
  stream->Put([data] { State().memory().Begin(data); });
  return cuda::kSuccess;
}

Result cuMemFreeAsync(cuda::DevicePointer pointer, cuda::Stream stream) {
  const Need need = NeedStream(stream, "cuMemFreeAsync");
  if (!need.IsMet()) return need.result;
  char* const data = At(pointer);
  if (!State().memory().IsTaken(data)) {
    State().Note("cuMemFreeAsync: memory that was not taken");
    return cuda::kInvalidValue;
  }
  ThePools().TakeBack(data);
  stream->Put([data] {
    if (Owned(data, 1, "cuMemFreeAsync")) State().memory().End(data);
  });
  return cuda::kSuccess;
}

Result cuMemcpyHtoDAsync_v2(cuda::DevicePointer to, const void* from, size_t bytes,
                            cuda::Stream stream) {
  const Need need = NeedStream(stream, "cuMemcpyHtoDAsync");
  if (!need.IsMet()) return need.result;
  stream->Put({.run =
                   [=] {
                     if (!Owned(At(to), bytes, "cuMemcpyHtoDAsync")) return;
                     std::memcpy(At(to), from, bytes);
                   },
               .node_type = cuda::kCopyNode});
  return cuda::kSuccess;
}

Result cuMemcpyDtoHAsync_v2(void* to, cuda::DevicePointer from, size_t bytes,
                            cuda::Stream stream) {
  const Need need = NeedStream(stream, "cuMemcpyDtoHAsync");
  if (!need.IsMet()) return need.result;
  stream->Put({.run =
                   [=] {
                     if (!Owned(At(from), bytes, "cuMemcpyDtoHAsync")) return;
                     std::memcpy(to, At(from), bytes);
                   },
               .node_type = cuda::kCopyNode});
  return cuda::kSuccess;
}

Result cuMemsetD8Async(cuda::DevicePointer to, unsigned char value, size_t bytes,
                       cuda::Stream stream) {
  const Need need = NeedStream(stream, "cuMemsetD8Async");
  if (!need.IsMet()) return need.result;
  stream->Put({.run =
                   [=] {
                     if (!Owned(At(to), bytes, "cuMemsetD8Async")) return;
                     std::memset(At(to), value, bytes);
                   },
               .node_type = cuda::kFillNode});
  return cuda::kSuccess;
}

Result cuMemsetD2D8Async(cuda::DevicePointer to, size_t pitch, unsigned char value,
                         size_t width, size_t height, cuda::Stream stream) {
  const Need need = NeedStream(stream, "cuMemsetD2D8Async");
  if (!need.IsMet()) return need.result;
  const auto fill = [=] {
    if (!Owned(At(to), Span(pitch, width, height), "cuMemsetD2D8Async")) return;
    for (size_t row = 0; row < height; ++row) {
      std::memset(At(to) + row * pitch, value, width);
    }
  };
  stream->Put({.run = fill, .node_type = cuda::kFillNode});
  return cuda::kSuccess;
}

}  // extern "C"
