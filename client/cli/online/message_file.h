// A message of the API from a file: as JSON, YAML or textproto.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_MESSAGE_FILE_H_
#define EVENPACK_CLIENT_CLI_ONLINE_MESSAGE_FILE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace evenpack {

// The form is told by the path: .json; .yaml or .yml; .textproto, .txtpb or .pbtxt.
// With any other name, a text that begins with '{' is JSON, one that is a textproto is
// that, and the rest is YAML. Fields have the names of the API, or in JSON and YAML
// their lowerCamelCase forms. `flag`: what the file was named with, for messages.
// INVALID_ARGUMENT naming flag, path and the line or the field.
absl::Status ParseMessage(const std::string& flag, const std::string& path,
                          std::string_view text, google::protobuf::Message& message);

// ParseMessage of a file's content, or of standard input's where `path` is "-".
// INVALID_ARGUMENT also where the file can't be read or has more than 16 MiB.
absl::Status ReadMessageFile(const std::string& flag, const std::string& path,
                             google::protobuf::Message& message);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_MESSAGE_FILE_H_
