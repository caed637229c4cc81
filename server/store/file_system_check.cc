#include "server/store/file_system_check.h"

#include <sys/stat.h>
#include <sys/vfs.h>

#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace evenpack {

std::string NetworkFileSystem(uint64_t type) {
  // statfs(2), and linux/magic.h; the parallel ones as their own sources have them.
  constexpr std::array<std::pair<uint64_t, std::string_view>, 13> kTypes = {{
      {0x6969, "NFS"},
      {0x517B, "SMB"},
      {0xFF534D42, "CIFS"},
      {0xFE534D42, "SMB2"},
      {0x00C36400, "Ceph"},
      {0x0BD00BD0, "Lustre"},
      {0x47504653, "GPFS"},
      {0x19830326, "BeeGFS"},
      {0x20030528, "OrangeFS"},
      {0x5346414F, "AFS"},
      {0x6B414653, "kAFS"},
      {0x73757245, "Coda"},
      {0x7461636F, "OCFS2"},
  }};
  for (const auto& [number, name] : kTypes) {
    if (number == type) return std::string(name);
  }
  return "";
}

namespace {

// SQLite says of these that it can't read or open them, and waits for a pipe's writer.
absl::Status CheckKindOfFile(const std::string& path) {
  struct stat file = {};
  if (stat(path.c_str(), &file) != 0 || S_ISREG(file.st_mode)) return absl::OkStatus();
  if (S_ISDIR(file.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "store: '", path, "' is a directory; accepted: a file in one that exists"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "store: '", path, "' is a pipe or a device; accepted: a file on a local disk"));
}

}  // namespace

absl::Status CheckFileSystem(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string directory = parent.empty() ? "./" : parent.string();
  struct statfs system = {};
  if (statfs(directory.c_str(), &system) != 0) {
    return absl::NotFoundError(absl::StrCat("store: there is no directory '", directory,
                                            "'; accepted: a file in one that exists"));
  }
  // Its sign differs between machines.
  const std::string network = NetworkFileSystem(static_cast<uint32_t>(system.f_type));
  if (network.empty()) return CheckKindOfFile(path);
  return absl::FailedPreconditionError(
      absl::StrCat("store: '", directory, "' lies on ", network,
                   ", a network file system, whose locks and flushes a store can't "
                   "rely on; accepted: a local disk"));
}

}  // namespace evenpack
