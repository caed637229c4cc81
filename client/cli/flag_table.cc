#include "client/cli/flag_table.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/offline_flags.h"
#include "client/cli/online/online_flags.h"

namespace evenpack {
namespace {

std::vector<CommandDefinition> AllCommands() {
  std::vector<CommandDefinition> commands = OfflineCommands();
  for (CommandDefinition& command : OnlineCommands()) {
    commands.push_back(std::move(command));
  }
  return commands;
}

}  // namespace

const std::vector<CommandDefinition>& CommandDefinitions() {
  static const auto* const kAll = new std::vector<CommandDefinition>(AllCommands());
  return *kAll;
}

std::string GroupHelp(const std::string& group) {
  if (group == "jobs") {
    return "Jobs of a server: create, list, describe, update, delete";
  }
  if (group == "profiles") {
    return "Cost profiles of a server: put, list, describe, delete";
  }
  return "";
}

std::string FlagNames(const CommandDefinition& command) {
  std::string names;
  for (const FlagDefinition& flag : command.flags) {
    absl::StrAppend(&names, flag.name, ", ");
  }
  return absl::StrCat(names, "--help");
}

}  // namespace evenpack
