#include "client/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/flag_table.h"
#include "client/cli/quoted_value.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr char kCommands[] = "pack, shard or compare; --help, --version";

// The CLI11 side of one command; values arrive as text.
struct BoundCommand {
  const CommandDefinition* definition = nullptr;
  CLI::App* app = nullptr;
  std::map<std::string, std::string> texts;
  std::map<std::string, CLI::Option*> options;
};

void BindFlag(const FlagDefinition& flag, BoundCommand& command) {
  CLI::Option*& option = command.options[flag.name];
  if (flag.kind == FlagKind::kSwitch) {
    option = command.app->add_flag(flag.name, flag.help);
    return;
  }
  option = command.app->add_option(flag.name, command.texts[flag.name], flag.help);
  option->type_name(flag.placeholder);
  if (flag.kind == FlagKind::kBoolean) option->expected(0, 1);
  // Repetition is refused below, in words of our own.
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void BindCommand(const CommandDefinition& definition, CLI::App& program,
                 BoundCommand& command) {
  command.definition = &definition;
  command.app = program.add_subcommand(definition.name, definition.help);
  command.app->allow_extras();
  for (const FlagDefinition& flag : definition.flags) BindFlag(flag, command);
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

absl::StatusOr<CommandLine> Parse(const std::vector<std::string>& arguments,
                                  CLI::App& program,
                                  std::vector<BoundCommand>& commands) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    program.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    return CommandLine{"", {}, program.help()};
  } catch (const CLI::CallForVersion& version) {
    return CommandLine{"", {}, absl::StrCat(version.what(), "\n")};
  } catch (const CLI::ArgumentMismatch& error) {
    return MissingValue(error.what());
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(error.what());
  }
  const std::vector<std::string> extras = program.remaining();
  if (!extras.empty()) {
    return InvalidField("command", QuotedValue(extras.front()), kCommands);
  }
  for (const BoundCommand& command : commands) {
    if (command.app->parsed()) return Collect(command);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("command is missing; accepted: ", kCommands));
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(
    const std::vector<std::string>& arguments) {
  CLI::App program("Workload-balanced packing for long-context LLM training",
                   "evenpackctl");
  program.set_version_flag("--version", "evenpackctl " EVENPACK_VERSION);
  program.allow_extras();
  program.require_subcommand(0, 1);
  const std::vector<CommandDefinition>& definitions = CommandDefinitions();
  std::vector<BoundCommand> commands(definitions.size());
  for (size_t i = 0; i < definitions.size(); ++i) {
    BindCommand(definitions[i], program, commands[i]);
  }
  return Parse(arguments, program, commands);
}

}  // namespace evenpack
