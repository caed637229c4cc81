// A context-parallel group whose ranks have a device each, over NCCL.
#ifndef EVENPACK_GPU_WORKER_NCCL_NCCL_ENDPOINT_H_
#define EVENPACK_GPU_WORKER_NCCL_NCCL_ENDPOINT_H_

#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "gpu_worker/communicator/endpoint.h"
#include "gpu_worker/cuda/row_kernels.h"
#include "gpu_worker/nccl/nccl_communicator.h"
#include "gpu_worker/nccl/nccl_connection.h"
#include "gpu_worker/nccl/nccl_library.h"

namespace evenpack::worker {

struct NcclOptions {
  // Of 1 to 1,024 ranks.
  NcclSeat seat = {};
  NcclTiming timing = {};
  CudaWorkplace device = {};
  std::span<const unsigned char> kernels = RowKernelImage();
};

// Rank 0's address is an id that NCCL made, in hexadecimal: it says where rank 0
// listens, and all ranks meet there. Those of other ranks are random, so that none has
// been another's before; NCCL would listen for each id that it makes.
//
// An id is good for one meeting. Ranks that meet by one again, since rank 0 had not
// heard of the first time, fail to connect, and rank 0's next address is another.
//
// INVALID_ARGUMENT: a number out of range. Errors of NCCL as NcclLibrary::Check.
absl::StatusOr<std::unique_ptr<Endpoint>> OpenNcclEndpoint(
    std::shared_ptr<const NcclLibrary> library, const NcclOptions& options);
// `options` say all but the seat.
OpenEndpointOf NcclEndpoints(std::shared_ptr<const NcclLibrary> library,
                             const NcclOptions& options);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_NCCL_NCCL_ENDPOINT_H_
