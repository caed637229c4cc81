// The double's memory: pools, and what streams copy and set.
#include <cstring>
#include <string>

#include "gpu_worker/cuda/cuda_abi.h"
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

size_t Span(size_t pitch, size_t width, size_t height) {
  return height == 0 ? 0 : (height - 1) * pitch + width;
}

}  // namespace

extern "C" {

Result cuMemPoolCreate(cuda::MemoryPool* pool, const cuda::PoolProperties* properties) {
  const Need need = NeedContext("cuMemPoolCreate");
  if (!need.IsMet()) return need.result;
  if (properties->allocation_type != cuda::kAllocationPinned ||
      properties->location_type != cuda::kLocationDevice) {
    return cuda::kInvalidValue;
  }
  *pool = new cuda::MemoryPoolObject;
  State().Add("pool", *pool);
  return cuda::kSuccess;
}

Result cuMemPoolDestroy(cuda::MemoryPool pool) {
  if (!State().Remove("pool", pool, "cuMemPoolDestroy")) return cuda::kInvalidHandle;
  delete pool;
  return cuda::kSuccess;
}

Result cuMemPoolSetAttribute(cuda::MemoryPool pool, int, void*) {
  return State().Check("pool", pool, "cuMemPoolSetAttribute") ? cuda::kSuccess
                                                              : cuda::kInvalidHandle;
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
