// evenpackctl jobs create, list, describe, update and delete.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_JOBS_COMMANDS_H_
#define EVENPACK_CLIENT_CLI_ONLINE_JOBS_COMMANDS_H_

#include "absl/status/status.h"
#include "client/cli/flag_values.h"
#include "client/cli/online/online_context.h"

namespace evenpack {

// The only stream of a job that is created without any, and the one that is fed where
// none is named.
inline constexpr char kDefaultStream[] = "default";

// Each writes what the server answered. INVALID_ARGUMENT: a flag, the file of --spec,
// or a field that the server refused; else the server's error.
absl::Status RunJobsCreate(const FlagValues& values, const OnlineContext& context);
absl::Status RunJobsList(const FlagValues& values, const OnlineContext& context);
absl::Status RunJobsDescribe(const FlagValues& values, const OnlineContext& context);
absl::Status RunJobsUpdate(const FlagValues& values, const OnlineContext& context);
absl::Status RunJobsDelete(const FlagValues& values, const OnlineContext& context);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_JOBS_COMMANDS_H_
