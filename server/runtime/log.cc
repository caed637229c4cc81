#include "server/runtime/log.h"

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "server/runtime/log_output.h"
#include "server/runtime/mutex.h"

namespace evenpack {
namespace {

// Far below a lease of a job, which is renewed by a thread that logs; a reader that
// lives takes what a pipe holds within it.
constexpr std::chrono::milliseconds kPatience{200};

std::atomic<LogFormat> log_format = LogFormat::kText;

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

// As a JSON string; bytes that aren't UTF-8 are replaced.
std::string Quoted(std::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool IsPlain(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '=' && c != '\\';
  });
}

using UnlockedSink = spdlog::sinks::base_sink<spdlog::details::null_mutex>;

// Has a lock of its own, which the thread sanitizer sees.
class StandardErrorSink final : public UnlockedSink {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    MutexLock lock(mutex_);
    if (output_.left_out() > 0) {
      const std::string notice =
          FormatLogLine(log_format, "log lines left out",
                        {{"because", "standard error took none"},
                         {"lines", absl::StrCat(output_.left_out())}});
      if (Put({message.logger_name, spdlog::level::warn, notice})) output_.Forget();
    }
    Put(message);
  }
  void flush_() override {}

 private:
  bool Put(const spdlog::details::log_msg& message) EVENPACK_REQUIRES(mutex_) {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    return output_.Write({line.data(), line.size()});
  }

  Mutex mutex_;
  LogOutput output_ EVENPACK_GUARDED_BY(mutex_){STDERR_FILENO, kPatience};
};

std::shared_ptr<spdlog::logger> LoggerOf(LogLevel least, LogFormat format) {
  auto logger = std::make_shared<spdlog::logger>("evenpack",
                                                 std::make_shared<StandardErrorSink>());
  logger->set_level(LevelOf(least));
  logger->set_pattern(format == LogFormat::kJson
                          ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})"
                          : "%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  return logger;
}

// Never destroyed: threads may log while the process ends.
std::shared_ptr<spdlog::logger>& Logger() {
  static auto& logger =
      *new std::shared_ptr<spdlog::logger>(LoggerOf(LogLevel::kInfo, LogFormat::kText));
  return logger;
}

}  // namespace

const std::map<std::string, LogLevel>& LogLevels() {
  static const std::map<std::string, LogLevel> kLevels = {
      {"debug", LogLevel::kDebug},
      {"info", LogLevel::kInfo},
      {"warning", LogLevel::kWarning},
      {"error", LogLevel::kError}};
  return kLevels;
}

const std::map<std::string, LogFormat>& LogFormats() {
  static const std::map<std::string, LogFormat> kFormats = {{"text", LogFormat::kText},
                                                            {"json", LogFormat::kJson}};
  return kFormats;
}

void StartLog(LogLevel least, LogFormat format) {
  log_format = format;
  Logger() = LoggerOf(least, format);
}

void Log(LogLevel level, std::string_view event, const LogFields& fields) {
  const spdlog::level::level_enum spdlog_level = LevelOf(level);
  spdlog::logger& logger = *Logger();
  if (!logger.should_log(spdlog_level)) return;
  logger.log(spdlog_level, "{}", FormatLogLine(log_format, event, fields));
}

std::string FormatLogLine(LogFormat format, std::string_view event,
                          const LogFields& fields) {
  const bool json = format == LogFormat::kJson;
  std::string line =
      json ? absl::StrCat("\"event\":", Quoted(event)) : std::string(event);
  for (const auto& [name, value] : fields) {
    if (json) {
      absl::StrAppend(&line, ",", Quoted(name), ":", Quoted(value));
    } else {
      absl::StrAppend(&line, " ", name, "=", IsPlain(value) ? value : Quoted(value));
    }
  }
  return line;
}

}  // namespace evenpack
