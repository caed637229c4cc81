// The commands that need no server: pack, shard, compare, verify.
#ifndef EVENPACK_CLIENT_CLI_OFFLINE_FLAGS_H_
#define EVENPACK_CLIENT_CLI_OFFLINE_FLAGS_H_

#include <vector>

#include "client/cli/flag_table.h"

namespace evenpack {

std::vector<CommandDefinition> OfflineCommands();

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_OFFLINE_FLAGS_H_
