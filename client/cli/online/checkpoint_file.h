// A checkpoint in a file.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_CHECKPOINT_FILE_H_
#define EVENPACK_CLIENT_CLI_ONLINE_CHECKPOINT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace evenpack {

// As OutputFile. INVALID_ARGUMENT, naming --output.
absl::Status WriteCheckpointFile(const std::string& path, const std::string& bytes);

// INVALID_ARGUMENT, naming --checkpoint.
absl::StatusOr<std::string> ReadCheckpointFile(const std::string& path);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_CHECKPOINT_FILE_H_
