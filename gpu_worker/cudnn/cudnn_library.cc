#include "gpu_worker/cudnn/cudnn_library.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gpu_worker/cuda/shared_library.h"
#include "server/runtime/mutex.h"

namespace cudnn_frontend {
// What the frontend, which declares it, calls cuDNN through.
void* cudnn_dlhandle = nullptr;
}  // namespace cudnn_frontend

namespace evenpack::worker {
namespace {

// docs/adr/0082
constexpr int64_t kOldestCudnn = 91800;

}  // namespace

// The frontend calls whatever its handle names, and keeps some of the functions that it
// found first: it gets none but that of a cuDNN that is accepted.
absl::Status LoadCudnn(const std::string& path) {
  static auto& mutex = *new Mutex;
  const MutexLock lock(mutex);
  if (cudnn_frontend::cudnn_dlhandle != nullptr) return absl::OkStatus();
  const LibraryName name = {"cuDNN", "libcudnn.so.9", "EVENPACK_CUDNN"};
  const absl::StatusOr<SharedLibrary> library = SharedLibrary::Open(name, path);
  if (!library.ok()) return library.status();
  size_t (*version_of)() = nullptr;
  absl::Status status = library->Find("cudnnGetVersion", version_of);
  if (!status.ok()) return status;
  const auto version = static_cast<int64_t>(version_of());
  if (version < kOldestCudnn) {
    return absl::FailedPreconditionError(
        absl::StrCat("cuDNN, '", library->path(), "', is of version ", version,
                     "; accepted: ", kOldestCudnn, " and later"));
  }
  cudnn_frontend::cudnn_dlhandle = dlopen(library->path().c_str(), RTLD_NOW);
  return absl::OkStatus();
}

}  // namespace evenpack::worker
