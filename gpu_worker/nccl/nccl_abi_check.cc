// Compares nccl_abi.h with NCCL's own header, wherever that is found.
#if __has_include(<nccl.h>)

#include <nccl.h>

#include <cstddef>

#include "gpu_worker/cuda/same_abi.h"
#include "gpu_worker/nccl/nccl_abi.h"

namespace evenpack::worker::nccl {

#define EVENPACK_CHECK(type, symbol, parameters) \
  static_assert(kSameAbi<decltype(Functions::symbol), decltype(&::symbol)>, #symbol);
EVENPACK_NCCL_FUNCTIONS(EVENPACK_CHECK)
#undef EVENPACK_CHECK

static_assert(kSuccess == ncclSuccess);
static_assert(kUnhandledCudaError == ncclUnhandledCudaError);
static_assert(kSystemError == ncclSystemError);
static_assert(kInternalError == ncclInternalError);
static_assert(kInvalidArgument == ncclInvalidArgument);
static_assert(kInvalidUsage == ncclInvalidUsage);
static_assert(kRemoteError == ncclRemoteError);
static_assert(kInProgress == ncclInProgress);
static_assert(kByte == ncclInt8);
static_assert(kOldestVersion == NCCL_VERSION(2, 18, 0));
static_assert(Config::kUndefined == NCCL_CONFIG_UNDEF_INT);

static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId));
static_assert(sizeof(Config) <= sizeof(ncclConfig_t));
static_assert(offsetof(Config, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(Config, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(Config, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(offsetof(Config, cga_cluster_size) ==
              offsetof(ncclConfig_t, cgaClusterSize));
static_assert(offsetof(Config, max_ctas) == offsetof(ncclConfig_t, maxCTAs));
static_assert(offsetof(Config, net_name) == offsetof(ncclConfig_t, netName));
static_assert(offsetof(Config, split_share) == offsetof(ncclConfig_t, splitShare));

}  // namespace evenpack::worker::nccl

#endif
