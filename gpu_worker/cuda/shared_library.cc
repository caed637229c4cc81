#include "gpu_worker/cuda/shared_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"

namespace evenpack::worker {
namespace {

std::string PathOf(const LibraryName& name, const std::string& path) {
  if (!path.empty()) return path;
  const char* const given = std::getenv(name.variable.c_str());
  return given == nullptr || *given == '\0' ? name.file : given;
}

std::string LastError() {
  const char* const error = dlerror();
  return error == nullptr ? "unknown error" : error;
}

}  // namespace

SharedLibrary::SharedLibrary(std::string what, std::string path, void* handle)
    : what_(std::move(what)), path_(std::move(path)), handle_(handle) {}

absl::StatusOr<SharedLibrary> SharedLibrary::Open(const LibraryName& name,
                                                  const std::string& path) {
  const std::string file = PathOf(name, path);
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        name.what, " can't be loaded: ", LastError(), "; accepted: ", name.file,
        " where the loader finds it, or a file named by ", name.variable));
  }
  return SharedLibrary(name.what, file, handle);
}

absl::Status SharedLibrary::FindAddress(const char* symbol, void*& address) const {
  address = dlsym(handle_, symbol);
  if (address != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      what_, ", '", path_, "', has no function ", symbol, "; accepted: a newer one"));
}

}  // namespace evenpack::worker
