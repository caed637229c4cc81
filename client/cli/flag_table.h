// The flags of each command of evenpackctl.
#ifndef EVENPACK_CLIENT_CLI_FLAG_TABLE_H_
#define EVENPACK_CLIENT_CLI_FLAG_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace evenpack {

enum class FlagKind : uint8_t {
  kValue,     // --flag VALUE
  kBoolean,   // --flag true|false; alone it means true
  kSwitch,    // --flag
  kArgument,  // VALUE, by its place: the flag's name is the placeholder
};

struct FlagDefinition {
  const char* name;
  FlagKind kind;
  // What stands for the value in the help; "" for a switch or an argument.
  const char* placeholder;
  const char* help;
  // The heading under which the help lists it.
  const char* group = "Options";
};

struct CommandDefinition {
  // One word, or two: "jobs create" is a command of the group "jobs".
  const char* name;
  const char* help;
  std::vector<FlagDefinition> flags;
};

// Those that need no server, then those that do; those of a group stand together.
const std::vector<CommandDefinition>& CommandDefinitions();

// What the commands are for that begin with the word `group`.
std::string GroupHelp(const std::string& group);

// "--lengths, --policy, ...": what a message about an unknown flag lists.
std::string FlagNames(const CommandDefinition& command);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_FLAG_TABLE_H_
