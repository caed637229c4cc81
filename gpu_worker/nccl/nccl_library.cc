#include "gpu_worker/nccl/nccl_library.h"

#include "absl/strings/str_cat.h"
#include "gpu_worker/cuda/shared_library.h"

namespace evenpack::worker {
namespace {

absl::Status FindAll(const SharedLibrary& library, nccl::Functions& functions) {
#define EVENPACK_FIND(type, symbol, parameters) library.Find(#symbol, functions.symbol),
  const absl::Status found[] = {EVENPACK_NCCL_FUNCTIONS(EVENPACK_FIND)};
#undef EVENPACK_FIND
  for (const absl::Status& status : found) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// As people write it; NCCL counts two digits each for minor and patch.
std::string VersionText(int version) {
  return absl::StrCat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const NcclLibrary>> NcclLibrary::Load(
    const std::string& path) {
  const LibraryName name = {"NCCL", "libnccl.so.2", "EVENPACK_NCCL"};
  const absl::StatusOr<SharedLibrary> library = SharedLibrary::Open(name, path);
  if (!library.ok()) return library.status();
  std::shared_ptr<NcclLibrary> nccl(new NcclLibrary);
  absl::Status status = FindAll(*library, nccl->functions_);
  if (status.ok()) {
    status = nccl->Check(nccl->functions_.ncclGetVersion(&nccl->version_),
                         "to tell its version");
  }
  if (!status.ok()) return status;
  if (nccl->version_ < nccl::kOldestVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "NCCL, '", library->path(), "', is of version ", VersionText(nccl->version_),
        "; accepted: ", VersionText(nccl::kOldestVersion), " and later"));
  }
  return nccl;
}

absl::Status NcclLibrary::Check(nccl::Result result, absl::string_view what) const {
  if (result == nccl::kSuccess || result == nccl::kInProgress) return absl::OkStatus();
  const std::string message =
      absl::StrCat("NCCL failed ", what, ": ", functions_.ncclGetErrorString(result));
  if (result == nccl::kRemoteError || result == nccl::kSystemError) {
    return absl::UnavailableError(message);
  }
  return absl::InternalError(message);
}

}  // namespace evenpack::worker
