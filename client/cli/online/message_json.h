// A message of the API as JSON for people and scripts.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_MESSAGE_JSON_H_
#define EVENPACK_CLIENT_CLI_ONLINE_MESSAGE_JSON_H_

#include "client/cli/json_text.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace evenpack {

// Every field by its name in the .proto, in its order: those without presence always,
// those with it where set. Numbers are numbers, enums their names (or their numbers,
// where this API has no name for them), bytes (the API has digests alone) hexadecimal.
// Without bytes protobuf's JSON parser reads it back.
Json MessageJson(const google::protobuf::Message& message);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_MESSAGE_JSON_H_
