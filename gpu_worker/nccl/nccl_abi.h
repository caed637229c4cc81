// What is used of NCCL's binary interface, as nccl.h declares it: enough to call it
// without that header. nccl_abi_check.cc compares the two wherever NCCL is found.
#ifndef EVENPACK_GPU_WORKER_NCCL_NCCL_ABI_H_
#define EVENPACK_GPU_WORKER_NCCL_NCCL_ABI_H_

#include <climits>
#include <cstddef>

#include "gpu_worker/cuda/cuda_abi.h"

namespace evenpack::worker::nccl {

// ncclResult_t.
using Result = int;
inline constexpr Result kSuccess = 0;
inline constexpr Result kUnhandledCudaError = 1;
inline constexpr Result kSystemError = 2;
inline constexpr Result kInternalError = 3;
inline constexpr Result kInvalidArgument = 4;
inline constexpr Result kInvalidUsage = 5;
inline constexpr Result kRemoteError = 6;
inline constexpr Result kInProgress = 7;

// ncclInt8: a byte.
inline constexpr int kByte = 0;

// The oldest release that is accepted: the first that has all of Config.
inline constexpr int kOldestVersion = 21800;

// ncclComm_t.
using Communicator = struct CommunicatorObject*;

struct UniqueId {
  char internal[128];
};

// The first fields of ncclConfig_t, which says itself how much of it there is and of
// which release.
struct Config {
  static constexpr int kUndefined = INT_MIN;

  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = kOldestVersion;
  int blocking = kUndefined;
  int cga_cluster_size = kUndefined;
  int min_ctas = kUndefined;
  int max_ctas = kUndefined;
  const char* net_name = nullptr;
  int split_share = kUndefined;
};

// X(return type, symbol, parameters).
#define EVENPACK_NCCL_FUNCTIONS(X)                                                   \
  X(Result, ncclGetVersion, (int* version))                                          \
  X(Result, ncclGetUniqueId, (UniqueId * id))                                        \
  X(Result, ncclCommInitRankConfig,                                                  \
    (Communicator * communicator, int ranks, UniqueId id, int rank, Config* config)) \
  X(Result, ncclCommFinalize, (Communicator communicator))                           \
  X(Result, ncclCommDestroy, (Communicator communicator))                            \
  X(Result, ncclCommAbort, (Communicator communicator))                              \
  X(Result, ncclCommGetAsyncError, (Communicator communicator, Result * error))      \
  X(Result, ncclGroupStart, ())                                                      \
  X(Result, ncclGroupEnd, ())                                                        \
  X(Result, ncclSend,                                                                \
    (const void* from, size_t count, int type, int peer, Communicator communicator,  \
     cuda::Stream stream))                                                           \
  X(Result, ncclRecv,                                                                \
    (void* to, size_t count, int type, int peer, Communicator communicator,          \
     cuda::Stream stream))                                                           \
  X(const char*, ncclGetErrorString, (Result result))                                \
  X(const char*, ncclGetLastError, (Communicator communicator))

struct Functions {
// NOLINTNEXTLINE(bugprone-macro-parentheses)
#define EVENPACK_DECLARE(type, symbol, parameters) type(*symbol) parameters = nullptr;
  EVENPACK_NCCL_FUNCTIONS(EVENPACK_DECLARE)
#undef EVENPACK_DECLARE
};

}  // namespace evenpack::worker::nccl

#endif  // EVENPACK_GPU_WORKER_NCCL_NCCL_ABI_H_
