// The flags of each command of evenpackctl.
#ifndef EVENPACK_CLIENT_CLI_FLAG_TABLE_H_
#define EVENPACK_CLIENT_CLI_FLAG_TABLE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace evenpack {

enum class FlagKind : uint8_t {
  kValue,    // --flag VALUE
  kBoolean,  // --flag true|false; alone it means true
  kSwitch,   // --flag
};

struct FlagDefinition {
  const char* name;
  FlagKind kind;
  // What stands for the value in the help; "" for a switch.
  const char* placeholder;
  const char* help;
};

struct CommandDefinition {
  const char* name;
  const char* help;
  std::vector<FlagDefinition> flags;
};

// pack, shard, compare.
const std::vector<CommandDefinition>& CommandDefinitions();

// "--lengths, --policy, ...": what a message about an unknown flag lists.
std::string FlagNames(const CommandDefinition& command);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_FLAG_TABLE_H_
