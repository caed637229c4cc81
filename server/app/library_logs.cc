#include "server/app/library_logs.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "server/runtime/log.h"

namespace evenpack {
namespace {

std::string Place(const char* file, int line) { return absl::StrCat(file, ":", line); }

void LogGrpc(gpr_log_func_args* logged) {
  LogLevel level = LogLevel::kDebug;
  if (logged->severity == GPR_LOG_SEVERITY_ERROR) level = LogLevel::kError;
  if (logged->severity == GPR_LOG_SEVERITY_INFO) level = LogLevel::kInfo;
  Log(level, "grpc",
      {{"message", logged->message}, {"at", Place(logged->file, logged->line)}});
}

void LogProtobuf(google::protobuf::LogLevel severity, const char* file, int line,
                 const std::string& message) {
  LogLevel level = LogLevel::kError;
  if (severity == google::protobuf::LOGLEVEL_INFO) level = LogLevel::kInfo;
  if (severity == google::protobuf::LOGLEVEL_WARNING) level = LogLevel::kWarning;
  Log(level, "protobuf", {{"message", message}, {"at", Place(file, line)}});
}

}  // namespace

void TakeLibraryLogs() {
  gpr_set_log_function(LogGrpc);
  google::protobuf::SetLogHandler(LogProtobuf);
}

}  // namespace evenpack
