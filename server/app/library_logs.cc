#include "server/app/library_logs.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/runtime/clock.h"
#include "server/runtime/log.h"
#include "server/runtime/log_budget.h"

namespace evenpack {
namespace {

std::string Place(const char* file, int line) { return absl::StrCat(file, ":", line); }

LogBudget& Budget() {
  // Libraries log to the last.
  static auto* const kBudget = new LogBudget(Clock::Steady());
  return *kBudget;
}

void LogOne(LogLevel level, const char* library, const std::string& message,
            const std::string& place) {
  const std::optional<uint64_t> left_out = Budget().Take(place);
  if (!left_out.has_value()) return;
  LogFields fields = {{"message", message}, {"at", place}};
  if (*left_out > 0) fields.emplace_back("left_out", std::to_string(*left_out));
  Log(level, library, fields);
}

void LogGrpc(gpr_log_func_args* logged) {
  LogLevel level = LogLevel::kDebug;
  if (logged->severity == GPR_LOG_SEVERITY_ERROR) level = LogLevel::kError;
  if (logged->severity == GPR_LOG_SEVERITY_INFO) level = LogLevel::kInfo;
  LogOne(level, "grpc", logged->message, Place(logged->file, logged->line));
}

void LogProtobuf(google::protobuf::LogLevel severity, const char* file, int line,
                 const std::string& message) {
  LogLevel level = LogLevel::kError;
  if (severity == google::protobuf::LOGLEVEL_INFO) level = LogLevel::kInfo;
  if (severity == google::protobuf::LOGLEVEL_WARNING) level = LogLevel::kWarning;
  LogOne(level, "protobuf", message, Place(file, line));
}

}  // namespace

void TakeLibraryLogs() {
  gpr_set_log_function(LogGrpc);
  google::protobuf::SetLogHandler(LogProtobuf);
}

}  // namespace evenpack
