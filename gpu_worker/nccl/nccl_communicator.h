// Exchanges between the devices of a group, over NCCL.
#ifndef EVENPACK_GPU_WORKER_NCCL_NCCL_COMMUNICATOR_H_
#define EVENPACK_GPU_WORKER_NCCL_NCCL_COMMUNICATOR_H_

#include <memory>
#include <span>

#include "absl/status/statusor.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/cuda/cuda_workplace.h"
#include "gpu_worker/cuda/row_kernels.h"
#include "gpu_worker/nccl/nccl_connection.h"

namespace evenpack::worker {

// Tensors are in the device's memory, and transfers ordered (communicator.h): a stream
// of its own carries them out, each after what the compute stream was given before
// Start, beside what it is given later. Start blocks until peers begin the exchange too
// where they have exchanged nothing before; otherwise it takes as long as its copies
// and messages take to be put into the stream, the latter by a thread that NCCL makes
// for each exchange.
//
// A watchdog aborts the group on this rank where NCCL finds an error or a peer does not
// take part within exchange_timeout: UNAVAILABLE, or INTERNAL for an error of this
// rank's. Peers learn of it by their own NCCL, by their own time-out, or through the
// server. States: nccl_connection.h.
//
// Its destruction waits for what is under way, and for at most close_timeout until
// peers have what they were sent, unless the group is aborted. Transfers must be gone.
//
// INTERNAL or RESOURCE_EXHAUSTED: the device has no stream for it. Errors as
// RowKernels::Load.
absl::StatusOr<std::unique_ptr<Communicator>> MakeNcclCommunicator(
    std::unique_ptr<NcclConnection> connection, const CudaWorkplace& device,
    const NcclTiming& timing,
    std::span<const unsigned char> kernels = RowKernelImage());

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_NCCL_NCCL_COMMUNICATOR_H_
