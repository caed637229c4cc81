// A job's spec from a file: evenpack.v1.JobSpec as JSON, YAML or textproto.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_SPEC_FILE_H_
#define EVENPACK_CLIENT_CLI_ONLINE_SPEC_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace evenpack::v1 {
class JobSpec;
}  // namespace evenpack::v1

namespace evenpack {

// As message_file.h reads any message. INVALID_ARGUMENT naming `path` and the line or
// the field.
absl::Status ParseSpec(const std::string& path, std::string_view text,
                       v1::JobSpec& spec);

// ParseSpec of a file's content, or of standard input's where `path` is "-".
// INVALID_ARGUMENT also where the file can't be read or has more than 16 MiB.
absl::Status ReadSpecFile(const std::string& path, v1::JobSpec& spec);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_SPEC_FILE_H_
