// Structured logs: an event and named values, one line each on standard error.
//
//   Log(LogLevel::kInfo, "job created", {{"job", name}, {"micro_batches", "4"}});
#ifndef EVENPACK_SERVER_RUNTIME_LOG_H_
#define EVENPACK_SERVER_RUNTIME_LOG_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace evenpack {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };
enum class LogFormat : uint8_t {
  kText,  // time level event key=value
  kJson,  // one object a line: time, level, event and the values
};

// By the names that flags and files have for them.
const std::map<std::string, LogLevel>& LogLevels();
const std::map<std::string, LogFormat>& LogFormats();

using LogFields = std::vector<std::pair<std::string, std::string>>;

// Lines below `least` are dropped. Before the threads that log. Where it isn't called,
// as in a trainer that links the worker: kInfo and kText.
void StartLog(LogLevel least, LogFormat format);

// Thread-safe. Values may hold anything: they are quoted where that is needed. A line
// that standard error doesn't take within 200 ms, as a pipe that nobody reads, is left
// out, and so are the next ones at once until one is taken; then a line says how many
// were.
void Log(LogLevel level, std::string_view event, const LogFields& fields = {});

// What Log writes after the time and level.
std::string FormatLogLine(LogFormat format, std::string_view event,
                          const LogFields& fields);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_LOG_H_
