// Flags that the programs' command lines share. CLI11 reads them.
#ifndef EVENPACK_SERVER_RUNTIME_PROGRAM_FLAGS_H_
#define EVENPACK_SERVER_RUNTIME_PROGRAM_FLAGS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/runtime/log.h"

// NOLINTNEXTLINE(readability-identifier-naming): CLI11 has named it.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace evenpack {

// "FLAG N" of `least` to `most`, for uint32_t and uint64_t. `value` has the default and
// must outlive the parse. CLI11's template is compiled for it here alone, where it
// takes seconds.
template <typename Number>
CLI::Option* AddNumber(CLI::App& app, const std::string& flag, Number& value,
                       uint64_t least, uint64_t most, const std::string& help);
extern template CLI::Option* AddNumber(CLI::App&, const std::string&, uint32_t&,
                                       uint64_t, uint64_t, const std::string&);
extern template CLI::Option* AddNumber(CLI::App&, const std::string&, uint64_t&,
                                       uint64_t, uint64_t, const std::string&);

// --log-level and --log-format, which must outlive the parse.
std::array<CLI::Option*, 2> AddLogFlags(CLI::App& app, LogLevel& level,
                                        LogFormat& format);

// Reads a program's arguments, without its name. What --help and --version print, and
// nothing else is to be done then; empty without them. INVALID_ARGUMENT, in CLI11's
// words.
absl::StatusOr<std::string> ParseArguments(CLI::App& app,
                                           std::vector<std::string> arguments);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_PROGRAM_FLAGS_H_
