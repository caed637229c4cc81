#include "client/cli/online/checkpoint_file.h"

#include <cstdint>

#include "client/cli/input_file.h"
#include "server/runtime/output_file.h"

namespace evenpack {
namespace {

// More than this is some other file. What a server takes in a message is less as a
// rule: its --max-message-bytes.
constexpr uint64_t kMostBytes = uint64_t{1} << 30;

}  // namespace

absl::Status WriteCheckpointFile(const std::string& path, const std::string& bytes) {
  absl::StatusOr<OutputFile> file = OutputFile::Open("--output", path);
  return file.ok() ? file->Commit(bytes) : file.status();
}

absl::StatusOr<std::string> ReadCheckpointFile(const std::string& path) {
  return ReadWholeFile("--checkpoint", path, "what evenpackctl checkpoint wrote",
                       kMostBytes);
}

}  // namespace evenpack
