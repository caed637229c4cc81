#include "client/cli/online/checkpoint_file.h"

#include <cstdint>
#include <cstdio>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "client/cli/input_file.h"

namespace evenpack {
namespace {

// More than this is some other file. What a server takes in a message is less as a
// rule: its --max-message-bytes.
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

}  // namespace

absl::Status WriteCheckpointFile(const std::string& path, const std::string& bytes) {
  const std::string unfinished = path + ".part";
  std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file.good() && std::rename(unfinished.c_str(), path.c_str()) == 0) {
    return absl::OkStatus();
  }
  std::remove(unfinished.c_str());
  return absl::InvalidArgumentError(
      absl::StrCat("--output: '", path,
                   "' can't be written; accepted: a file in a directory that "
                   "may be written"));
}

absl::StatusOr<std::string> ReadCheckpointFile(const std::string& path) {
  return ReadWholeFile("--checkpoint", path, "what evenpackctl checkpoint wrote",
                       kMostBytes);
}

}  // namespace evenpack
