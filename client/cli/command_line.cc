#include "client/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/flag_table.h"
#include "client/cli/quoted_value.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/utf8_text.h"

namespace evenpack {
namespace {

// The CLI11 side of one command; values arrive as text.
struct BoundCommand {
  const CommandDefinition* definition = nullptr;
  CLI::App* app = nullptr;
  std::map<std::string, std::string> texts;
  std::map<std::string, CLI::Option*> options;
};

// The CLI11 side of all of them.
struct BoundProgram {
  CLI::App app{"Workload-balanced packing for long-context LLM training",
               "evenpackctl"};
  std::map<std::string, CLI::App*> groups;
  std::vector<BoundCommand> commands;
};

void BindFlag(const FlagDefinition& flag, BoundCommand& command) {
  CLI::Option*& option = command.options[flag.name];
  if (flag.kind == FlagKind::kSwitch) {
    option = command.app->add_flag(flag.name, flag.help);
  } else {
    option = command.app->add_option(flag.name, command.texts[flag.name], flag.help);
    option->type_name(flag.placeholder);
    if (flag.kind == FlagKind::kBoolean) option->expected(0, 1);
    // Repetition is refused below, in words of our own.
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  if (flag.kind != FlagKind::kArgument) option->group(flag.group);
}

// The group before a command's last word; "" for a command of one word.
std::string_view GroupOf(std::string_view command) {
  const size_t blank = command.find(' ');
  return blank == std::string_view::npos ? "" : command.substr(0, blank);
}

std::string WordOf(std::string_view command) {
  return std::string(command.substr(command.find(' ') + 1));
}

// The program, or the command's group, which is bound with its first command.
CLI::App& ParentOf(const CommandDefinition& definition, BoundProgram& program) {
  const std::string name(GroupOf(definition.name));
  if (name.empty()) return program.app;
  CLI::App*& app = program.groups[name];
  if (app == nullptr) {
    app = program.app.add_subcommand(name, GroupHelp(name));
    app->allow_extras();
    app->require_subcommand(0, 1);
  }
  return *app;
}

void BindCommand(const CommandDefinition& definition, BoundProgram& program,
                 BoundCommand& command) {
  command.definition = &definition;
  command.app = ParentOf(definition, program)
                    .add_subcommand(WordOf(definition.name), definition.help);
  command.app->allow_extras();
  for (const FlagDefinition& flag : definition.flags) BindFlag(flag, command);
}

void Bind(BoundProgram& program) {
  program.app.set_version_flag("--version", "evenpackctl " EVENPACK_VERSION);
  program.app.allow_extras();
  program.app.require_subcommand(0, 1);
  const std::vector<CommandDefinition>& definitions = CommandDefinitions();
  program.commands.resize(definitions.size());
  for (size_t i = 0; i < definitions.size(); ++i) {
    BindCommand(definitions[i], program, program.commands[i]);
  }
}

// Paths are whatever bytes the file system has; all else may become part of a message.
bool IsPath(const FlagDefinition& flag) {
  const absl::string_view placeholder = flag.placeholder;
  return absl::StrContains(flag.name, "FILE") ||
         absl::StrContains(placeholder, "FILE") || placeholder == "PREFIX";
}

absl::StatusOr<CommandLine> Collect(const BoundCommand& command) {
  const std::vector<std::string> extras = command.app->remaining();
  if (!extras.empty()) {
    return InvalidField(command.definition->name, QuotedValue(extras.front()),
                        FlagNames(*command.definition));
  }
  CommandLine line;
  line.command = command.definition->name;
  for (const FlagDefinition& flag : command.definition->flags) {
    const size_t count = command.options.at(flag.name)->count();
    if (count == 0) continue;
    if (flag.kind == FlagKind::kSwitch) {
      const std::string given = command.options.at(flag.name)->results().front();
      if (given != "true") {
        return InvalidField(flag.name, QuotedValue(given), "no value");
      }
      line.flags[flag.name] = "true";
      continue;
    }
    if (count > 1) {
      return InvalidField(flag.name, absl::StrCat("given ", count, " times"), "once");
    }
    const std::string& text = command.texts.at(flag.name);
    if (!IsPath(flag) && !IsUtf8(text)) {
      return InvalidField(flag.name, QuotedValue(text), "text in UTF-8");
    }
    const bool is_bare = flag.kind == FlagKind::kBoolean && text.empty();
    line.flags[flag.name] = is_bare ? "true" : text;
  }
  return line;
}

// CLI11's message begins "FLAG: ". Other mismatches don't occur: every flag takes one
// value at most, and repetition is let through.
absl::Status MissingValue(std::string_view message) {
  const std::string flag(message.substr(0, message.find(':')));
  for (const CommandDefinition& command : CommandDefinitions()) {
    for (const FlagDefinition& definition : command.flags) {
      if (flag != definition.name) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          flag, " has no value; accepted: ", flag, " ", definition.placeholder));
    }
  }
  return absl::InvalidArgumentError(absl::string_view(message.data(), message.size()));
}

// "create, list, ...": the commands of a group.
std::string CommandsOf(const std::string& group) {
  std::string names;
  for (const CommandDefinition& command : CommandDefinitions()) {
    if (GroupOf(command.name) != group) continue;
    absl::StrAppend(&names, names.empty() ? "" : ", ", WordOf(command.name));
  }
  return names;
}

// "pack, shard, ..., --version": what a command line may begin with.
std::string FirstWords() {
  std::string words;
  std::string_view last;
  for (const CommandDefinition& command : CommandDefinitions()) {
    const std::string_view name = command.name;
    const std::string_view word = name.substr(0, name.find(' '));
    // The commands of a group stand together.
    if (word != last) absl::StrAppend(&words, std::string(word), ", ");
    last = word;
  }
  return words + "--help, --version";
}

// What stands where a command should.
absl::Status NoCommand(const std::string& field, const std::vector<std::string>& extras,
                       std::string_view accepted) {
  const absl::string_view commands(accepted.data(), accepted.size());
  if (!extras.empty())
    return InvalidField(field, QuotedValue(extras.front()), commands);
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is missing; accepted: ", commands));
}

// CLI11 has no more of a boolean with an empty value than of one alone, which is true:
// as of a script's variable that is not set.
absl::Status CheckBooleans(const std::vector<std::string>& arguments) {
  std::set<std::string> booleans;
  for (const CommandDefinition& command : CommandDefinitions()) {
    for (const FlagDefinition& flag : command.flags) {
      if (flag.kind == FlagKind::kBoolean) booleans.insert(flag.name);
    }
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string flag = arguments[i];
    const bool empty = absl::EndsWith(flag, "=") ||
                       (i + 1 < arguments.size() && arguments[i + 1].empty());
    if (absl::EndsWith(flag, "=")) flag.pop_back();
    if (empty && booleans.contains(flag)) {
      return InvalidField(flag, "''", "true or false");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CommandLine> Parse(const std::vector<std::string>& arguments,
                                  BoundProgram& program) {
  if (absl::Status status = CheckBooleans(arguments); !status.ok()) return status;
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    program.app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    return CommandLine{"", {}, program.app.help()};
  } catch (const CLI::CallForVersion& version) {
    return CommandLine{"", {}, absl::StrCat(version.what(), "\n")};
  } catch (const CLI::ArgumentMismatch& error) {
    return MissingValue(error.what());
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(error.what());
  }
  const std::vector<std::string> extras = program.app.remaining();
  if (!extras.empty()) return NoCommand("command", extras, FirstWords());
  for (const BoundCommand& command : program.commands) {
    if (command.app->parsed()) return Collect(command);
  }
  for (const auto& [name, group] : program.groups) {
    if (!group->parsed()) continue;
    return NoCommand(absl::StrCat(name, " command"), group->remaining(),
                     CommandsOf(name));
  }
  return NoCommand("command", {}, FirstWords());
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(
    const std::vector<std::string>& arguments) {
  BoundProgram program;
  Bind(program);
  return Parse(arguments, program);
}

}  // namespace evenpack
