#include "gpu_worker/arena/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace evenpack::worker {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

absl::Status Refused(absl::string_view what, size_t bytes) {
  const int code = errno;
  const std::string message =
      absl::StrCat(what, " of ", bytes, " bytes can't be had: ", std::strerror(code));
  return code == EINVAL ? absl::InvalidArgumentError(message)
                        : absl::ResourceExhaustedError(message);
}

}  // namespace

absl::StatusOr<SharedMemory> SharedMemory::Create(size_t bytes) {
  FileDescriptor file(memfd_create("evenpack-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid() || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) {
    return Refused("shared memory", bytes);
  }
  return Map(std::move(file));
}

absl::StatusOr<SharedMemory> SharedMemory::Map(FileDescriptor descriptor) {
  const int seals = fcntl(descriptor.get(), F_GET_SEALS);
  struct stat found {};
  if (seals < 0 || (seals & kSeals) != kSeals || fstat(descriptor.get(), &found) != 0) {
    return absl::InvalidArgumentError(
        "the descriptor is not that of an arena; accepted: memory whose size is "
        "sealed");
  }
  const auto size = static_cast<size_t>(found.st_size);
  void* const data =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), 0);
  if (data == MAP_FAILED) return Refused("a mapping", size);
  return SharedMemory(std::move(descriptor), static_cast<char*>(data), size);
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace evenpack::worker
