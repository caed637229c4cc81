#include "server/store/file_places.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "server/runtime/log.h"

namespace evenpack {

std::string FollowLinks(const std::string& path) {
  // As many as the kernel follows (path_resolution(7)).
  constexpr int kMostLinks = 40;
  std::filesystem::path at = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code none;
    const std::filesystem::path next = std::filesystem::read_symlink(at, none);
    if (none) return at.string();
    // An absolute one takes the place of all before it.
    at = at.parent_path() / next;
  }
  return path;
}

std::optional<FilePlaces::Identity> FilePlaces::IdentityAt(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return std::nullopt;
  return Identity{found.st_dev, found.st_ino};
}

absl::Status FilePlaces::Check(bool moved) {
  std::string gone;
  if (moved) {
    gone = path_;
  } else if (IdentityAt(log_path_) != log_) {
    gone = log_path_;
  }
  const std::string before = std::exchange(gone_, gone);
  if (gone.empty()) {
    if (!before.empty()) {
      Log(LogLevel::kInfo, "store's file is back", {{"file", before}});
    }
    return absl::OkStatus();
  }
  if (gone != before) Log(LogLevel::kError, "store's file is gone", {{"file", gone}});
  return absl::UnavailableError(
      absl::StrCat("store: '", gone,
                   "' was removed or replaced while it is served from; accepted: the "
                   "file that was there"));
}

}  // namespace evenpack
