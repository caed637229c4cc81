// evenpackctl ingest: a file's documents into a stream of a job.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_INGEST_COMMAND_H_
#define EVENPACK_CLIENT_CLI_ONLINE_INGEST_COMMAND_H_

#include "absl/status/status.h"
#include "client/cli/flag_values.h"
#include "client/cli/online/online_context.h"

namespace evenpack {

// Once the server has answered, what was accepted is written however it ends. A bad
// line ends it: the documents before are sent and accepted, nothing behind is.
// INVALID_ARGUMENT: a flag, a line of the file, or a document that the server refused;
// CANCELLED: interrupted; else the server's error.
absl::Status RunIngest(const FlagValues& values, const OnlineContext& context);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_INGEST_COMMAND_H_
