#include "gpu_worker/cuda/cuda_driver.h"

#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "gpu_worker/cuda/shared_library.h"

namespace evenpack::worker {
namespace {

absl::Status FirstError(std::initializer_list<absl::Status> found) {
  for (const absl::Status& status : found) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

#define EVENPACK_FIND(symbol, parameters) library.Find(#symbol, functions.symbol),
absl::Status FindAll(const SharedLibrary& library, cuda::Functions& functions) {
  return FirstError({EVENPACK_CUDA_FUNCTIONS(EVENPACK_FIND)});
}
absl::Status FindEdges(const SharedLibrary& library, cuda::Functions& functions) {
  return FirstError({EVENPACK_CUDA_EDGE_FUNCTIONS(EVENPACK_FIND)});
}
#undef EVENPACK_FIND

}  // namespace

absl::StatusOr<std::shared_ptr<const CudaDriver>> CudaDriver::Load(
    const std::string& path) {
  const LibraryName name = {"the CUDA driver", "libcuda.so.1", "EVENPACK_CUDA_DRIVER"};
  const absl::StatusOr<SharedLibrary> library = SharedLibrary::Open(name, path);
  if (!library.ok()) return library.status();
  std::shared_ptr<CudaDriver> driver(new CudaDriver);
  if (absl::Status status = FindAll(*library, driver->functions_); !status.ok()) {
    return status;
  }
  absl::Status status = driver->Begin(library->path());
  if (status.ok() && driver->version_ >= kOldestDriverOfGraphs) {
    status = FindEdges(*library, driver->functions_);
  }
  if (!status.ok()) return status;
  return driver;
}

absl::Status CudaDriver::Begin(const std::string& path) {
  if (const cuda::Result result = functions_.cuInit(0); result != cuda::kSuccess) {
    return absl::FailedPreconditionError(
        absl::StrCat("the CUDA driver, '", path,
                     "', can't be used: ", Check(result, "to begin").message()));
  }
  absl::Status status =
      Check(functions_.cuDriverGetVersion(&version_), "to tell its version");
  if (!status.ok() || version_ >= kOldestCudaDriver) return status;
  return absl::FailedPreconditionError(
      absl::StrCat("the CUDA driver, '", path, "', is for version ", version_,
                   " of CUDA; accepted: ", kOldestCudaDriver, " and later"));
}

absl::Status CudaDriver::Check(cuda::Result result, absl::string_view what) const {
  if (result == cuda::kSuccess) return absl::OkStatus();
  const char* name = nullptr;
  if (functions_.cuGetErrorName(result, &name) != cuda::kSuccess || name == nullptr) {
    name = "an unknown error";
  }
  const std::string message =
      absl::StrCat("the device failed ", what, ": ", name, " (", result, ")");
  if (result == cuda::kOutOfMemory) {
    return absl::ResourceExhaustedError(message);
  }
  return absl::InternalError(message);
}

}  // namespace evenpack::worker
