// What is used of the CUDA driver's binary interface, as cuda.h declares it: enough to
// call it without that header. cuda_abi_check.cc compares the two wherever the toolkit
// is found.
#ifndef EVENPACK_GPU_WORKER_CUDA_CUDA_ABI_H_
#define EVENPACK_GPU_WORKER_CUDA_CUDA_ABI_H_

#include <cstddef>
#include <cstdint>

namespace evenpack::worker::cuda {

// CUresult.
using Result = int;
inline constexpr Result kSuccess = 0;
inline constexpr Result kInvalidValue = 1;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kInvalidContext = 201;
inline constexpr Result kInvalidHandle = 400;
inline constexpr Result kNotFound = 500;
inline constexpr Result kNotReady = 600;
inline constexpr Result kLaunchFailed = 719;

// CUdevice: its number among those that the process sees.
using DeviceNumber = int;
// CUdeviceptr.
using DevicePointer = uint64_t;
// CUmemGenericAllocationHandle: memory apart from its addresses.
using MemoryHandle = uint64_t;

// CUcontext, CUstream, CUevent, CUgraph, CUgraphNode, CUgraphExec, CUmemoryPool,
// CUlibrary and CUkernel.
using Context = struct ContextObject*;
using Stream = struct StreamObject*;
using Event = struct EventObject*;
using Graph = struct GraphObject*;
using GraphNode = struct GraphNodeObject*;
using ExecutableGraph = struct ExecutableGraphObject*;
using MemoryPool = struct MemoryPoolObject*;
using Library = struct LibraryObject*;
using Kernel = struct KernelObject*;
using HostFunction = void (*)(void* argument);

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventBlockingSync = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr int kAllocationPinned = 1;
inline constexpr int kLocationDevice = 1;
inline constexpr int kPoolReleaseThreshold = 4;
inline constexpr int kHandlePosixFile = 1;
inline constexpr int kGranularityMinimum = 0;
inline constexpr int kAccessReadWrite = 3;
inline constexpr unsigned kHostPortable = 1;
inline constexpr unsigned kWaitAtLeast = 0;
inline constexpr int kCaptureGlobal = 0;
inline constexpr int kCaptureRelaxed = 2;
inline constexpr int kNotCapturing = 0;
inline constexpr int kKernelNode = 0;
inline constexpr int kCopyNode = 1;
inline constexpr int kFillNode = 2;
inline constexpr int kHostNode = 3;
inline constexpr int kEmptyNode = 5;

// CUgraphEdgeData: what of a node awaits what of another. All 0: the whole of it, until
// that is complete.
struct GraphEdge {
  unsigned char from_port = 0;
  unsigned char to_port = 0;
  unsigned char type = 0;
  unsigned char reserved[5] = {};
};

// CUDA_MEMSET_NODE_PARAMS.
struct FillParameters {
  DevicePointer to = 0;
  size_t pitch = 0;
  unsigned value = 0;
  unsigned element_size = 1;
  size_t width = 0;
  size_t height = 1;
};

// CUuuid.
struct Uuid {
  unsigned char bytes[16] = {};
};

// CUmemAllocationProp.
struct AllocationProperties {
  int type = kAllocationPinned;
  int handle_types = kHandlePosixFile;
  int location_type = kLocationDevice;
  int location_id = 0;
  void* metadata = nullptr;
  unsigned char compression = 0;
  unsigned char direct_rdma = 0;
  uint16_t usage = 0;
  unsigned char reserved[4] = {};
};

// CUmemAccessDesc.
struct AccessDescription {
  int location_type = kLocationDevice;
  int location_id = 0;
  int flags = kAccessReadWrite;
};

// CUmemPoolProps.
struct PoolProperties {
  int allocation_type = kAllocationPinned;
  int handle_types = 0;
  int location_type = kLocationDevice;
  int location_id = 0;
  void* security_attributes = nullptr;
  size_t max_size = 0;
  unsigned char reserved[56] = {};
};

// X(symbol, parameters): all return a Result. Streams take what is put into them in
// order; a context must be current, but for the first nine.
#define EVENPACK_CUDA_FUNCTIONS(X)                                                     \
  X(cuInit, (unsigned flags))                                                          \
  X(cuDriverGetVersion, (int* version))                                                \
  X(cuGetErrorName, (Result result, const char** name))                                \
  X(cuDeviceGet, (DeviceNumber * device, int number))                                  \
  X(cuDeviceGetCount, (int* count))                                                    \
  X(cuDeviceGetUuid_v2, (Uuid * uuid, DeviceNumber device))                            \
  X(cuDeviceCanAccessPeer, (int* can_access, DeviceNumber device, DeviceNumber peer))  \
  X(cuDevicePrimaryCtxRetain, (Context * context, DeviceNumber device))                \
  X(cuDevicePrimaryCtxRelease_v2, (DeviceNumber device))                               \
  X(cuCtxPushCurrent_v2, (Context context))                                            \
  X(cuCtxPopCurrent_v2, (Context * context))                                           \
  X(cuCtxGetStreamPriorityRange, (int* least, int* greatest))                          \
  X(cuStreamCreateWithPriority, (Stream * stream, unsigned flags, int priority))       \
  X(cuStreamDestroy_v2, (Stream stream))                                               \
  X(cuStreamSynchronize, (Stream stream))                                              \
  X(cuStreamWaitEvent, (Stream stream, Event event, unsigned flags))                   \
  X(cuEventCreate, (Event * event, unsigned flags))                                    \
  X(cuEventDestroy_v2, (Event event))                                                  \
  X(cuEventRecord, (Event event, Stream stream))                                       \
  X(cuEventQuery, (Event event))                                                       \
  X(cuEventSynchronize, (Event event))                                                 \
  X(cuEventElapsedTime, (float* milliseconds, Event earlier, Event later))             \
  X(cuThreadExchangeStreamCaptureMode, (int* mode))                                    \
  X(cuStreamBeginCapture_v2, (Stream stream, int mode))                                \
  X(cuStreamEndCapture, (Stream stream, Graph * graph))                                \
  X(cuStreamIsCapturing, (Stream stream, int* status))                                 \
  X(cuGraphGetNodes, (Graph graph, GraphNode * nodes, size_t * count))                 \
  X(cuGraphNodeGetType, (GraphNode node, int* type))                                   \
  X(cuGraphAddMemsetNode,                                                              \
    (GraphNode * node, Graph graph, const GraphNode* after, size_t count,              \
     const FillParameters* parameters, Context context))                               \
  X(cuGraphInstantiateWithFlags,                                                       \
    (ExecutableGraph * executable, Graph graph, uint64_t flags))                       \
  X(cuGraphDestroy, (Graph graph))                                                     \
  X(cuGraphExecDestroy, (ExecutableGraph executable))                                  \
  X(cuGraphLaunch, (ExecutableGraph executable, Stream stream))                        \
  X(cuMemPoolCreate, (MemoryPool * pool, const PoolProperties* properties))            \
  X(cuMemPoolDestroy, (MemoryPool pool))                                               \
  X(cuMemPoolSetAttribute, (MemoryPool pool, int attribute, void* value))              \
  X(cuMemPoolSetAccess,                                                                \
    (MemoryPool pool, const AccessDescription* access, size_t count))                  \
  X(cuMemAllocFromPoolAsync,                                                           \
    (DevicePointer * pointer, size_t bytes, MemoryPool pool, Stream stream))           \
  X(cuMemFreeAsync, (DevicePointer pointer, Stream stream))                            \
  X(cuMemGetAllocationGranularity,                                                     \
    (size_t * bytes, const AllocationProperties* properties, int option))              \
  X(cuMemCreate, (MemoryHandle * handle, size_t bytes,                                 \
                  const AllocationProperties* properties, uint64_t flags))             \
  X(cuMemRelease, (MemoryHandle handle))                                               \
  X(cuMemExportToShareableHandle,                                                      \
    (void* shareable, MemoryHandle handle, int type, uint64_t flags))                  \
  X(cuMemImportFromShareableHandle,                                                    \
    (MemoryHandle * handle, void* shareable, int type))                                \
  X(cuMemAddressReserve, (DevicePointer * pointer, size_t bytes, size_t alignment,     \
                          DevicePointer wanted, uint64_t flags))                       \
  X(cuMemAddressFree, (DevicePointer pointer, size_t bytes))                           \
  X(cuMemMap, (DevicePointer pointer, size_t bytes, size_t offset,                     \
               MemoryHandle handle, uint64_t flags))                                   \
  X(cuMemUnmap, (DevicePointer pointer, size_t bytes))                                 \
  X(cuMemSetAccess, (DevicePointer pointer, size_t bytes,                              \
                     const AccessDescription* access, size_t count))                   \
  X(cuMemHostAlloc, (void** pointer, size_t bytes, unsigned flags))                    \
  X(cuMemFreeHost, (void* pointer))                                                    \
  X(cuStreamWaitValue64_v2,                                                            \
    (Stream stream, DevicePointer address, uint64_t value, unsigned flags))            \
  X(cuMemcpyHtoDAsync_v2,                                                              \
    (DevicePointer to, const void* from, size_t bytes, Stream stream))                 \
  X(cuMemcpyDtoHAsync_v2, (void* to, DevicePointer from, size_t bytes, Stream stream)) \
  X(cuMemsetD8Async,                                                                   \
    (DevicePointer to, unsigned char value, size_t bytes, Stream stream))              \
  X(cuMemsetD2D8Async, (DevicePointer to, size_t pitch, unsigned char value,           \
                        size_t width, size_t height, Stream stream))                   \
  X(cuLaunchHostFunc, (Stream stream, HostFunction function, void* argument))          \
  X(cuLibraryLoadData,                                                                 \
    (Library * library, const void* code, int* jit_options, void** jit_values,         \
     unsigned jit_count, int* options, void** values, unsigned count))                 \
  X(cuLibraryUnload, (Library library))                                                \
  X(cuLibraryGetKernel, (Kernel * kernel, Library library, const char* name))          \
  X(cuLaunchKernel,                                                                    \
    (Kernel kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,                 \
     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,      \
     Stream stream, void** parameters, void** extra))

// The same; these are null where the driver is older than CUDA 12.3.
#define EVENPACK_CUDA_EDGE_FUNCTIONS(X)                                               \
  X(cuGraphGetEdges_v2, (Graph graph, GraphNode * from, GraphNode * to,               \
                         GraphEdge * edges, size_t * count))                          \
  X(cuGraphAddDependencies_v2,                                                        \
    (Graph graph, const GraphNode* from, const GraphNode* to, const GraphEdge* edges, \
     size_t count))                                                                   \
  X(cuGraphRemoveDependencies_v2,                                                     \
    (Graph graph, const GraphNode* from, const GraphNode* to, const GraphEdge* edges, \
     size_t count))

struct Functions {
// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define EVENPACK_DECLARE(symbol, parameters) Result(*symbol) parameters = nullptr;
  EVENPACK_CUDA_FUNCTIONS(EVENPACK_DECLARE)
  EVENPACK_CUDA_EDGE_FUNCTIONS(EVENPACK_DECLARE)
#undef EVENPACK_DECLARE
};

}  // namespace evenpack::worker::cuda

#endif  // EVENPACK_GPU_WORKER_CUDA_CUDA_ABI_H_
