// The double's memory that processes share: files in memory, mapped where addresses
// were reserved. Two processes that load the double share it as they would a device's.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "gpu_worker/cuda/cuda_abi.h"
#include "tests/gpu_worker/cuda/fake_calls.h"

namespace cuda = evenpack::worker::cuda;

namespace {

using cuda::Result;
using evenpack::testing::State;

constexpr size_t kUnit = size_t{64} << 10;

const void* Handle(cuda::MemoryHandle handle) {
  return reinterpret_cast<const void*>(handle);
}
void* Mapped(cuda::DevicePointer pointer) { return reinterpret_cast<void*>(pointer); }

// A handle is its file's descriptor.
size_t SizeOf(int file) {
  struct stat found {};
  return fstat(file, &found) == 0 ? static_cast<size_t>(found.st_size) : 0;
}

bool Reserve(void* at, size_t bytes, int flags) {
  return mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0) !=
         MAP_FAILED;
}

}  // namespace

extern "C" {

Result cuMemGetAllocationGranularity(size_t* bytes, const cuda::AllocationProperties*,
                                     int) {
  *bytes = kUnit;
  return cuda::kSuccess;
}

Result cuMemCreate(cuda::MemoryHandle* handle, size_t bytes,
                   const cuda::AllocationProperties* properties, uint64_t) {
  if (bytes == 0 || bytes % kUnit != 0 ||
      properties->handle_types != cuda::kHandlePosixFile) {
    return cuda::kInvalidValue;
  }
  if (bytes > State().memory().capacity()) return cuda::kOutOfMemory;
  const int file = memfd_create("fake-device-memory", MFD_CLOEXEC);
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) std::abort();
  *handle = static_cast<cuda::MemoryHandle>(file);
  State().Add("shared memory", Handle(*handle));
  return cuda::kSuccess;
}

Result cuMemRelease(cuda::MemoryHandle handle) {
  if (!State().Remove("shared memory", Handle(handle), "cuMemRelease")) {
    return cuda::kInvalidValue;
  }
  close(static_cast<int>(handle));
  return cuda::kSuccess;
}

Result cuMemExportToShareableHandle(void* shareable, cuda::MemoryHandle handle,
                                    int type, uint64_t) {
  if (type != cuda::kHandlePosixFile ||
      !State().Check("shared memory", Handle(handle), "cuMemExport")) {
    return cuda::kInvalidValue;
  }
  *static_cast<int*>(shareable) = fcntl(static_cast<int>(handle), F_DUPFD_CLOEXEC, 0);
  return cuda::kSuccess;
}

Result cuMemImportFromShareableHandle(cuda::MemoryHandle* handle, void* shareable,
                                      int type) {
  const int given = static_cast<int>(reinterpret_cast<intptr_t>(shareable));
  // Files in memory have seals; that of an arena's ring has others than this one.
  if (type != cuda::kHandlePosixFile || fcntl(given, F_GET_SEALS) != F_SEAL_SEAL) {
    return cuda::kInvalidValue;
  }
  *handle = static_cast<cuda::MemoryHandle>(fcntl(given, F_DUPFD_CLOEXEC, 0));
  State().Add("shared memory", Handle(*handle));
  return cuda::kSuccess;
}

Result cuMemAddressReserve(cuda::DevicePointer* pointer, size_t bytes, size_t,
                           cuda::DevicePointer, uint64_t) {
  if (bytes == 0 || bytes % kUnit != 0) return cuda::kInvalidValue;
  void* const at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return cuda::kOutOfMemory;
  *pointer = reinterpret_cast<cuda::DevicePointer>(at);
  State().Add("addresses", at);
  return cuda::kSuccess;
}

Result cuMemAddressFree(cuda::DevicePointer pointer, size_t bytes) {
  if (!State().Remove("addresses", Mapped(pointer), "cuMemAddressFree")) {
    return cuda::kInvalidValue;
  }
  munmap(Mapped(pointer), bytes);
  return cuda::kSuccess;
}

Result cuMemMap(cuda::DevicePointer pointer, size_t bytes, size_t offset,
                cuda::MemoryHandle handle, uint64_t) {
  if (!State().Check("addresses", Mapped(pointer), "cuMemMap") ||
      !State().Check("shared memory", Handle(handle), "cuMemMap")) {
    return cuda::kInvalidValue;
  }
  if (offset != 0 || bytes != SizeOf(static_cast<int>(handle))) {
    return cuda::kInvalidValue;
  }
  if (mmap(Mapped(pointer), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED,
           static_cast<int>(handle), 0) == MAP_FAILED) {
    return cuda::kOutOfMemory;
  }
  return cuda::kSuccess;
}

Result cuMemSetAccess(cuda::DevicePointer pointer, size_t bytes,
                      const cuda::AccessDescription* access, size_t count) {
  if (count != 1 || access->flags != cuda::kAccessReadWrite ||
      !State().Check("addresses", Mapped(pointer), "cuMemSetAccess")) {
    return cuda::kInvalidValue;
  }
  mprotect(Mapped(pointer), bytes, PROT_READ | PROT_WRITE);
  State().memory().Place(static_cast<char*>(Mapped(pointer)), bytes);
  return cuda::kSuccess;
}

Result cuMemUnmap(cuda::DevicePointer pointer, size_t bytes) {
  if (!State().Check("addresses", Mapped(pointer), "cuMemUnmap"))
    return cuda::kInvalidValue;
  State().memory().Forget(static_cast<char*>(Mapped(pointer)));
  return Reserve(Mapped(pointer), bytes, MAP_FIXED) ? cuda::kSuccess
                                                    : cuda::kInvalidValue;
}

Result cuMemHostAlloc(void** pointer, size_t bytes, unsigned) {
  *pointer = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  State().memory().Place(static_cast<char*>(*pointer), bytes);
  State().Add("host memory", *pointer);
  return cuda::kSuccess;
}

Result cuMemFreeHost(void* pointer) {
  if (!State().Remove("host memory", pointer, "cuMemFreeHost")) {
    return cuda::kInvalidValue;
  }
  State().memory().Forget(static_cast<char*>(pointer));
  std::free(pointer);
  return cuda::kSuccess;
}

Result cuStreamWaitValue64_v2(cuda::Stream stream, cuda::DevicePointer address,
                              uint64_t value, unsigned flags) {
  if (flags != cuda::kWaitAtLeast ||
      !State().Check("stream", stream, "cuStreamWaitValue64")) {
    return cuda::kInvalidValue;
  }
  stream->Put([at = static_cast<uint64_t*>(Mapped(address)), value] {
    const std::atomic_ref<uint64_t> seen(*at);
    for (;;) {
      if (!State().memory().Owns(at, sizeof(*at))) {
        State().Note("cuStreamWaitValue64: memory that is not in use");
        return;
      }
      // The driver's comparison is cyclic: what is half the numbers ahead is behind.
      if (static_cast<int64_t>(seen.load(std::memory_order_acquire) - value) >= 0) {
        return;
      }
      std::this_thread::yield();
    }
  });
  return cuda::kSuccess;
}

}  // extern "C"
