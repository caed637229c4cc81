#include "client/cli/program.h"

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/cli/command_line.h"
#include "client/cli/command_output.h"
#include "client/cli/compare_command.h"
#include "client/cli/online/online_commands.h"
#include "client/cli/pack_command.h"
#include "client/cli/prefill/prefill_command.h"
#include "client/cli/prefill/prefill_flags.h"
#include "client/cli/shard_command.h"
#include "client/cli/simulation/assess_command.h"
#include "client/cli/simulation/simulate_command.h"
#include "client/cli/verify_command.h"
#include "server/runtime/one_line.h"

namespace evenpack {
namespace {

absl::StatusOr<CommandOutput> RunOffline(const CommandLine& line) {
  if (line.command == "pack") {
    return IsPrefill(line.flags) ? RunPrefillCommand(line.flags)
                                 : RunPackCommand(line.flags);
  }
  if (line.command == "shard") return RunShardCommand(line.flags);
  if (line.command == "compare") return RunCompareCommand(line.flags);
  if (line.command == "assess") return RunAssessCommand(line.flags);
  if (line.command == "simulate") return RunSimulateCommand(line.flags);
  if (line.command == "verify") return RunVerifyCommand(line.flags);
  return CommandOutput{line.text, ""};
}

void WriteError(std::string_view before, const absl::Status& status, Output& err) {
  const std::string message =
      OnOneLine(std::string_view(status.message().data(), status.message().size()));
  err.Write(absl::StrCat(
      "evenpackctl: ", absl::string_view(before.data(), before.size()), message, "\n"));
}

int OfflineFailure(const absl::Status& status, Output& err) {
  const bool internal = absl::IsInternal(status);
  WriteError(internal ? "internal error: " : "", status, err);
  return internal ? kExitInternalError : kExitBadInput;
}

int OnlineFailure(const absl::Status& status, const OnlineContext& context) {
  // Whatever it broke.
  if (context.interrupt.IsRequested())
    return kExitBySignal + context.interrupt.signal();
  WriteError("", status, context.err);
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return kExitBadInput;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitUnavailable;
    default:
      return kExitRefused;
  }
}

}  // namespace

int RunProgram(const std::vector<std::string>& arguments,
               const OnlineContext& context) {
  const absl::StatusOr<CommandLine> line = ParseCommandLine(arguments);
  if (!line.ok()) return OfflineFailure(line.status(), context.err);
  if (const OnlineCommand command = FindOnlineCommand(line->command)) {
    const absl::Status status = command(line->flags, context);
    return status.ok() ? 0 : OnlineFailure(status, context);
  }
  const absl::StatusOr<CommandOutput> output = RunOffline(*line);
  if (!output.ok()) return OfflineFailure(output.status(), context.err);
  context.err.Write(output->note);
  context.out.Write(output->text);
  return output->failed ? kExitRefused : 0;
}

}  // namespace evenpack
