// NCCL, found when the program runs.
#ifndef EVENPACK_GPU_WORKER_NCCL_NCCL_LIBRARY_H_
#define EVENPACK_GPU_WORKER_NCCL_NCCL_LIBRARY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_worker/nccl/nccl_abi.h"

namespace evenpack::worker {

// Thread-safe.
class NcclLibrary {
 public:
  // `path`: empty: what EVENPACK_NCCL names, or libnccl.so.2. FAILED_PRECONDITION:
  // there is none, or it is older than nccl::kOldestVersion.
  static absl::StatusOr<std::shared_ptr<const NcclLibrary>> Load(
      const std::string& path = "");

  const nccl::Functions& functions() const { return functions_; }
  int version() const { return version_; }

  // OK, also for what is in progress. UNAVAILABLE: a peer or the network is at fault,
  // as far as NCCL can tell; else INTERNAL. `what` was not done: "to connect".
  absl::Status Check(nccl::Result result, absl::string_view what) const;

 private:
  NcclLibrary() = default;

  nccl::Functions functions_;
  int version_ = 0;
};

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_NCCL_NCCL_LIBRARY_H_
