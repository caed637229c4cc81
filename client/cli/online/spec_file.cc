#include "client/cli/online/spec_file.h"

#include "client/cli/online/message_file.h"
#include "evenpack/v1/job.pb.h"

namespace evenpack {
namespace {

constexpr char kFlag[] = "--spec";

}  // namespace

absl::Status ParseSpec(const std::string& path, std::string_view text,
                       v1::JobSpec& spec) {
  return ParseMessage(kFlag, path, text, spec);
}

absl::Status ReadSpecFile(const std::string& path, v1::JobSpec& spec) {
  return ReadMessageFile(kFlag, path, spec);
}

}  // namespace evenpack
