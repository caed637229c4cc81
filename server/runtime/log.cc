#include "server/runtime/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

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
  auto logger = std::make_shared<spdlog::logger>(
      "evenpack", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(LevelOf(least));
  logger->set_pattern(format == LogFormat::kJson
                          ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})"
                          : "%Y-%m-%dT%H:%M:%S.%e%z %l %v");
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

void Log(LogLevel level, std::string_view event, const LogFields& fields) {
  const spdlog::level::level_enum spdlog_level = LevelOf(level);
  spdlog::logger& logger = *spdlog::default_logger_raw();
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
