// Compares cuda_abi.h with the toolkit's cuda.h, wherever that is found.
#if __has_include(<cuda.h>)

// So that it declares all that ever was, whatever the newest is.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstddef>

#include "gpu_worker/cuda/cuda_abi.h"
#include "gpu_worker/cuda/same_abi.h"

namespace evenpack::worker::cuda {

#define EVENPACK_CHECK(symbol, parameters) \
  static_assert(kSameAbi<decltype(Functions::symbol), decltype(&::symbol)>, #symbol);
EVENPACK_CUDA_FUNCTIONS(EVENPACK_CHECK)
EVENPACK_CUDA_EDGE_FUNCTIONS(EVENPACK_CHECK)
#undef EVENPACK_CHECK

static_assert(kSuccess == CUDA_SUCCESS);
static_assert(kInvalidValue == CUDA_ERROR_INVALID_VALUE);
static_assert(kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(kInvalidContext == CUDA_ERROR_INVALID_CONTEXT);
static_assert(kInvalidHandle == CUDA_ERROR_INVALID_HANDLE);
static_assert(kNotFound == CUDA_ERROR_NOT_FOUND);
static_assert(kNotReady == CUDA_ERROR_NOT_READY);
static_assert(kLaunchFailed == CUDA_ERROR_LAUNCH_FAILED);
static_assert(kStreamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(kEventDefault == CU_EVENT_DEFAULT);
static_assert(kEventBlockingSync == CU_EVENT_BLOCKING_SYNC);
static_assert(kEventDisableTiming == CU_EVENT_DISABLE_TIMING);
static_assert(kAllocationPinned == CU_MEM_ALLOCATION_TYPE_PINNED);
static_assert(kLocationDevice == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(kPoolReleaseThreshold == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
static_assert(kHandlePosixFile == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
static_assert(kGranularityMinimum == CU_MEM_ALLOC_GRANULARITY_MINIMUM);
static_assert(kAccessReadWrite == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
static_assert(kHostPortable == CU_MEMHOSTALLOC_PORTABLE);
static_assert(kWaitAtLeast == CU_STREAM_WAIT_VALUE_GEQ);
static_assert(kCaptureGlobal == CU_STREAM_CAPTURE_MODE_GLOBAL);
static_assert(kCaptureRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(kNotCapturing == CU_STREAM_CAPTURE_STATUS_NONE);
static_assert(kKernelNode == CU_GRAPH_NODE_TYPE_KERNEL);
static_assert(kCopyNode == CU_GRAPH_NODE_TYPE_MEMCPY);
static_assert(kFillNode == CU_GRAPH_NODE_TYPE_MEMSET);
static_assert(kHostNode == CU_GRAPH_NODE_TYPE_HOST);
static_assert(kEmptyNode == CU_GRAPH_NODE_TYPE_EMPTY);
static_assert(GraphEdge{}.from_port == CU_GRAPH_KERNEL_NODE_PORT_DEFAULT);
static_assert(GraphEdge{}.type == CU_GRAPH_DEPENDENCY_TYPE_DEFAULT);

static_assert(sizeof(DevicePointer) == sizeof(CUdeviceptr));
static_assert(sizeof(PoolProperties) == sizeof(CUmemPoolProps));
static_assert(offsetof(PoolProperties, location_type) ==
              offsetof(CUmemPoolProps, location));
static_assert(offsetof(PoolProperties, max_size) == offsetof(CUmemPoolProps, maxSize));
static_assert(sizeof(GraphEdge) == sizeof(CUgraphEdgeData));
static_assert(offsetof(GraphEdge, type) == offsetof(CUgraphEdgeData, type));
static_assert(sizeof(FillParameters) == sizeof(CUDA_MEMSET_NODE_PARAMS));
static_assert(offsetof(FillParameters, element_size) ==
              offsetof(CUDA_MEMSET_NODE_PARAMS, elementSize));
static_assert(offsetof(FillParameters, height) ==
              offsetof(CUDA_MEMSET_NODE_PARAMS, height));
static_assert(sizeof(Uuid) == sizeof(CUuuid));
static_assert(sizeof(AllocationProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(AllocationProperties, handle_types) ==
              offsetof(CUmemAllocationProp, requestedHandleTypes));
static_assert(offsetof(AllocationProperties, location_type) ==
              offsetof(CUmemAllocationProp, location));
static_assert(offsetof(AllocationProperties, compression) ==
              offsetof(CUmemAllocationProp, allocFlags));
static_assert(sizeof(AccessDescription) == sizeof(CUmemAccessDesc));
static_assert(offsetof(AccessDescription, flags) == offsetof(CUmemAccessDesc, flags));

}  // namespace evenpack::worker::cuda

#endif
