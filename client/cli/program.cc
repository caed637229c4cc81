#include "client/cli/program.h"

#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/cli/command_line.h"
#include "client/cli/command_output.h"
#include "client/cli/compare_command.h"
#include "client/cli/pack_command.h"
#include "client/cli/quoted_value.h"
#include "client/cli/shard_command.h"

namespace evenpack {
namespace {

absl::StatusOr<CommandOutput> RunCommand(const CommandLine& line) {
  if (line.command == "pack") return RunPackCommand(line.flags);
  if (line.command == "shard") return RunShardCommand(line.flags);
  if (line.command == "compare") return RunCompareCommand(line.flags);
  return CommandOutput{line.text, ""};
}

ProgramResult Failure(const absl::Status& status) {
  const std::string message =
      OnOneLine(std::string_view(status.message().data(), status.message().size()));
  if (absl::IsInternal(status)) {
    return {kExitInternalError, "",
            absl::StrCat("evenpackctl: internal error: ", message, "\n")};
  }
  return {kExitBadInput, "", absl::StrCat("evenpackctl: ", message, "\n")};
}

}  // namespace

ProgramResult RunProgram(const std::vector<std::string>& arguments) {
  const absl::StatusOr<CommandLine> line = ParseCommandLine(arguments);
  if (!line.ok()) return Failure(line.status());
  absl::StatusOr<CommandOutput> output = RunCommand(*line);
  if (!output.ok()) return Failure(output.status());
  return {0, std::move(output->text), std::move(output->note)};
}

}  // namespace evenpack
