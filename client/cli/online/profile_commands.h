// evenpackctl profiles put, list, describe and delete.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_PROFILE_COMMANDS_H_
#define EVENPACK_CLIENT_CLI_ONLINE_PROFILE_COMMANDS_H_

#include "absl/status/status.h"
#include "client/cli/flag_values.h"
#include "client/cli/online/online_context.h"

namespace evenpack {

// Errors as those of jobs_commands.h.
absl::Status RunProfilesPut(const FlagValues& values, const OnlineContext& context);
absl::Status RunProfilesList(const FlagValues& values, const OnlineContext& context);
absl::Status RunProfilesDescribe(const FlagValues& values,
                                 const OnlineContext& context);
absl::Status RunProfilesDelete(const FlagValues& values, const OnlineContext& context);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_PROFILE_COMMANDS_H_
