// The double's functions, as the driver exports them; those of graphs, of memory and of
// what processes share have files of their own.
#include "tests/gpu_worker/cuda/fake_cuda.h"

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gpu_worker/cuda/cuda_abi.h"
#include "tests/gpu_worker/cuda/fake_calls.h"
#include "tests/gpu_worker/cuda/fake_captures.h"
#include "tests/gpu_worker/cuda/fake_kernels.h"

namespace cuda = evenpack::worker::cuda;

namespace evenpack::worker::cuda {

// All live as long as their handles, a kernel as its library.
struct ContextObject {};
struct KernelObject {
  const evenpack::testing::FakeKernel* form = nullptr;
  const LibraryObject* library = nullptr;
};
struct LibraryObject {
  // By their names.
  std::map<std::string, KernelObject> kernels;
};

}  // namespace evenpack::worker::cuda

namespace {

using cuda::Result;
using evenpack::testing::CurrentContexts;
using evenpack::testing::Need;
using evenpack::testing::NeedContext;
using evenpack::testing::NeedEvent;
using evenpack::testing::NeedStream;
using evenpack::testing::State;

// The one device's primary context.
cuda::ContextObject primary;

// Threads that wait for a stream.
std::atomic<int> awaiting = 0;

template <typename Wait>
void Await(Wait wait) {
  ++awaiting;
  wait();
  --awaiting;
}

// Of another double: a kernel, whose argument is copied.
Result LaunchAnother(cuda::Stream stream, void (*kernel)(const void* argument),
                     const void* argument, size_t bytes, bool is_early) {
  const Need need = NeedStream(stream, "fakeCudaLaunch");
  if (!need.IsMet()) return need.result;
  const char* const first = static_cast<const char*>(argument);
  stream->Put({.run = [kernel, copy = std::vector<char>(
                                   first, first + bytes)] { kernel(copy.data()); },
               .is_early = is_early});
  return cuda::kSuccess;
}

}  // namespace

extern "C" {

char* fakeCudaMisuse() { return strdup(State().misuse().c_str()); }
void fakeCudaNote(const char* misuse) { State().Note(misuse); }
size_t fakeCudaLive() { return State().live(); }
bool fakeCudaOwns(const void* data, size_t bytes) {
  return State().memory().Owns(data, bytes);
}
void fakeCudaReset() { State().Reset(); }
void fakeCudaSetVersion(int version) { State().SetVersion(version); }
void fakeCudaFail(Result result) { State().Fail(result); }
void fakeCudaPassTime(uint64_t nanoseconds) { State().PassTime(nanoseconds); }
void fakeCudaConnectDevices(bool connected) { State().ConnectDevices(connected); }
bool fakeCudaIsAwaited() { return awaiting > 0; }
void fakeCudaRefuseEvents(bool refused) { State().RefuseEvents(refused); }
void fakeCudaSetMemory(size_t bytes) { State().memory().SetCapacity(bytes); }

Result cuInit(unsigned flags) {
  return flags == 0 ? cuda::kSuccess : cuda::kInvalidValue;
}

Result cuDriverGetVersion(int* version) {
  *version = State().version();
  return cuda::kSuccess;
}

Result cuGetErrorName(Result result, const char** name) {
  switch (result) {
    case cuda::kOutOfMemory:
      *name = "CUDA_ERROR_OUT_OF_MEMORY";
      return cuda::kSuccess;
    case cuda::kInvalidContext:
      *name = "CUDA_ERROR_INVALID_CONTEXT";
      return cuda::kSuccess;
    case cuda::kInvalidHandle:
      *name = "CUDA_ERROR_INVALID_HANDLE";
      return cuda::kSuccess;
    default:
      return cuda::kInvalidValue;
  }
}

Result cuDeviceGet(cuda::DeviceNumber* device, int number) {
  // Two, which share all.
  if (number < 0 || number > 1) return cuda::kInvalidValue;
  *device = number;
  return cuda::kSuccess;
}

Result cuDeviceGetCount(int* count) {
  *count = 2;
  return cuda::kSuccess;
}

Result cuDeviceGetUuid_v2(cuda::Uuid* uuid, cuda::DeviceNumber device) {
  std::memset(uuid->bytes, device + 1, sizeof(uuid->bytes));
  return cuda::kSuccess;
}

Result cuDeviceCanAccessPeer(int* can_access, cuda::DeviceNumber device,
                             cuda::DeviceNumber peer) {
  *can_access = device != peer && State().devices_are_connected() ? 1 : 0;
  return cuda::kSuccess;
}

Result cuDevicePrimaryCtxRetain(cuda::Context* context, cuda::DeviceNumber) {
  State().Add("context", &primary);
  *context = &primary;
  return cuda::kSuccess;
}

Result cuDevicePrimaryCtxRelease_v2(cuda::DeviceNumber) {
  return State().Remove("context", &primary, "cuDevicePrimaryCtxRelease")
             ? cuda::kSuccess
             : cuda::kInvalidContext;
}

Result cuCtxPushCurrent_v2(cuda::Context context) {
  if (!State().Check("context", context, "cuCtxPushCurrent")) {
    return cuda::kInvalidContext;
  }
  CurrentContexts().push_back(context);
  return cuda::kSuccess;
}

Result cuCtxPopCurrent_v2(cuda::Context* context) {
  if (CurrentContexts().empty()) {
    State().Note("cuCtxPopCurrent: no context is current");
    return cuda::kInvalidContext;
  }
  *context = CurrentContexts().back();
  CurrentContexts().pop_back();
  return cuda::kSuccess;
}

Result cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return NeedContext("cuCtxGetStreamPriorityRange").result;
}

Result cuStreamCreateWithPriority(cuda::Stream* stream, unsigned, int) {
  const Need need = NeedContext("cuStreamCreateWithPriority");
  if (!need.IsMet()) return need.result;
  *stream = new cuda::StreamObject;
  State().Add("stream", *stream);
  return cuda::kSuccess;
}

Result cuStreamDestroy_v2(cuda::Stream stream) {
  const Need need = NeedContext("cuStreamDestroy");
  if (!need.IsMet()) return need.result;
  if (!State().Remove("stream", stream, "cuStreamDestroy")) return cuda::kInvalidHandle;
  delete stream;
  return cuda::kSuccess;
}

Result cuStreamSynchronize(cuda::Stream stream) {
  const Need need = NeedStream(stream, "cuStreamSynchronize");
  if (!need.IsMet()) return need.result;
  if (!evenpack::testing::FakeCaptures::Get().MayBeUnsafe()) {
    return evenpack::testing::kCaptureUnsupported;
  }
  Await([stream] { stream->Synchronize(); });
  return cuda::kSuccess;
}

Result cuStreamWaitEvent(cuda::Stream stream, cuda::Event event, unsigned) {
  Need need = NeedStream(stream, "cuStreamWaitEvent");
  if (need.IsMet()) need = NeedEvent(event, "cuStreamWaitEvent");
  if (!need.IsMet()) return need.result;
  if (event->point != nullptr) {
    stream->Put([point = event->point] { point->Await(); });
  }
  return cuda::kSuccess;
}

Result cuEventCreate(cuda::Event* event, unsigned flags) {
  const Need need = NeedContext("cuEventCreate");
  if (!need.IsMet()) return need.result;
  if (State().refuses_events()) return cuda::kOutOfMemory;
  *event = new cuda::EventObject;
  (*event)->is_timed = (flags & cuda::kEventDisableTiming) == 0;
  State().Add("event", *event);
  return cuda::kSuccess;
}

Result cuEventDestroy_v2(cuda::Event event) {
  const Need need = NeedContext("cuEventDestroy");
  if (!need.IsMet()) return need.result;
  if (!State().Remove("event", event, "cuEventDestroy")) return cuda::kInvalidHandle;
  delete event;
  return cuda::kSuccess;
}

Result cuEventRecord(cuda::Event event, cuda::Stream stream) {
  Need need = NeedStream(stream, "cuEventRecord");
  if (need.IsMet()) need = NeedEvent(event, "cuEventRecord");
  if (!need.IsMet()) return need.result;
  event->point = std::make_shared<evenpack::testing::FakePoint>();
  stream->Put([point = event->point] { point->Reach(State().time()); });
  return cuda::kSuccess;
}

Result cuEventQuery(cuda::Event event) {
  const Need need = NeedEvent(event, "cuEventQuery");
  if (!need.IsMet()) return need.result;
  if (!evenpack::testing::FakeCaptures::Get().MayBeUnsafe()) {
    return evenpack::testing::kCaptureUnsupported;
  }
  return event->IsReached() ? cuda::kSuccess : cuda::kNotReady;
}

Result cuEventSynchronize(cuda::Event event) {
  const Need need = NeedEvent(event, "cuEventSynchronize");
  if (!need.IsMet()) return need.result;
  if (!evenpack::testing::FakeCaptures::Get().MayBeUnsafe()) {
    return evenpack::testing::kCaptureUnsupported;
  }
  if (event->point != nullptr) {
    Await([point = event->point] { point->Await(); });
  }
  return cuda::kSuccess;
}

Result cuEventElapsedTime(float* milliseconds, cuda::Event earlier, cuda::Event later) {
  for (const cuda::Event event : {earlier, later}) {
    const Need need = NeedEvent(event, "cuEventElapsedTime");
    if (!need.IsMet()) return need.result;
    if (!event->is_timed) return cuda::kInvalidHandle;
    if (!event->IsReached()) return cuda::kNotReady;
  }
  const auto at = [](cuda::Event event) {
    return event->point == nullptr
               ? 0
               : static_cast<float>(event->point->reached_at()) / 1e6F;
  };
  *milliseconds = at(later) - at(earlier);
  return cuda::kSuccess;
}

Result fakeCudaLaunch(cuda::Stream stream, void (*kernel)(const void* argument),
                      const void* argument, size_t bytes) {
  return LaunchAnother(stream, kernel, argument, bytes, /*is_early=*/false);
}

Result fakeCudaLaunchEarly(cuda::Stream stream, void (*kernel)(const void* argument),
                           const void* argument, size_t bytes) {
  return LaunchAnother(stream, kernel, argument, bytes, /*is_early=*/true);
}

Result cuLaunchHostFunc(cuda::Stream stream, cuda::HostFunction function,
                        void* argument) {
  const Need need = NeedStream(stream, "cuLaunchHostFunc");
  if (need.IsMet()) {
    stream->Put({.run = [=] { function(argument); }, .node_type = cuda::kHostNode});
  }
  return need.result;
}

Result cuLibraryLoadData(cuda::Library* library, const void* code, int*, void**,
                         unsigned, int*, void**, unsigned) {
  const Need need = NeedContext("cuLibraryLoadData");
  if (!need.IsMet()) return need.result;
  if (code == nullptr) return cuda::kInvalidValue;
  *library = new cuda::LibraryObject;
  State().Add("library", *library);
  return cuda::kSuccess;
}

Result cuLibraryUnload(cuda::Library library) {
  if (!State().Remove("library", library, "cuLibraryUnload")) {
    return cuda::kInvalidHandle;
  }
  delete library;
  return cuda::kSuccess;
}

Result cuLibraryGetKernel(cuda::Kernel* kernel, cuda::Library library,
                          const char* name) {
  if (!State().Check("library", library, "cuLibraryGetKernel")) {
    return cuda::kInvalidHandle;
  }
  for (const auto& each : evenpack::testing::FakeKernels()) {
    if (std::strcmp(each.name, name) != 0) continue;
    *kernel = &(library->kernels[name] = {&each, library});
    return cuda::kSuccess;
  }
  return cuda::kNotFound;
}

Result cuLaunchKernel(cuda::Kernel kernel, unsigned grid_x, unsigned grid_y,
                      unsigned grid_z, unsigned block_x, unsigned block_y,
                      unsigned block_z, unsigned, cuda::Stream stream,
                      void** parameters, void**) {
  const Need need = NeedStream(stream, "cuLaunchKernel");
  if (!need.IsMet()) return need.result;
  const bool is_valid = grid_x > 0 && grid_y > 0 && grid_z > 0 && grid_y < 65536 &&
                        grid_z < 65536 && block_x > 0 && block_y > 0 && block_z > 0 &&
                        block_x * block_y * block_z <= 1024;
  if (!is_valid) {
    State().Note("cuLaunchKernel: a grid that no device has");
    return cuda::kInvalidValue;
  }
  const evenpack::testing::FakeKernel& form = *kernel->form;
  const char* const first = static_cast<const char*>(parameters[0]);
  const uint64_t blocks = uint64_t{grid_x} * grid_y * grid_z;
  stream->Put([&form, library = kernel->library, blocks,
               argument = std::vector<char>(first, first + form.argument_bytes)] {
    if (!State().Check("library", library, "a kernel")) return;
    form.run(argument.data(), blocks);
  });
  return cuda::kSuccess;
}

}  // extern "C"
