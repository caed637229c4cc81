#include "server/runtime/program_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace evenpack {
namespace {

// One of `names`, of which `unless_given` is the default.
template <typename Value>
CLI::Option* AddNamed(CLI::App& app, const std::string& flag, Value& value,
                      const std::map<std::string, Value>& names,
                      const std::string& unless_given, const std::string& help) {
  return app
      .add_option_function<std::string>(
          flag, [&value, &names](const std::string& name) { value = names.at(name); },
          help)
      ->check(CLI::IsMember(&names))
      ->default_str(unless_given);
}

}  // namespace

template <typename Number>
CLI::Option* AddNumber(CLI::App& app, const std::string& flag, Number& value,
                       uint64_t least, uint64_t most, const std::string& help) {
  // CLI11 would take 010 for 8, and 0x10.
  const auto to_decimal = [least, most](std::string& text) {
    if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) {
      return absl::StrCat("Value ", text, " not in range ", least, " to ", most);
    }
    text.erase(0, std::min(text.find_first_not_of('0'), text.size() - 1));
    return std::string();
  };
  return app.add_option(flag, value, help)
      ->transform(CLI::Validator(to_decimal, ""))
      ->check(CLI::Range(least, most))
      ->type_name("N")
      ->capture_default_str();
}

template CLI::Option* AddNumber(CLI::App&, const std::string&, uint32_t&, uint64_t,
                                uint64_t, const std::string&);
template CLI::Option* AddNumber(CLI::App&, const std::string&, uint64_t&, uint64_t,
                                uint64_t, const std::string&);

std::array<CLI::Option*, 2> AddLogFlags(CLI::App& app, LogLevel& level,
                                        LogFormat& format) {
  return {AddNamed(app, "--log-level", level, LogLevels(), "info",
                   "what is logged: messages of this level and above"),
          AddNamed(app, "--log-format", format, LogFormats(), "text",
                   "how messages are logged")};
}

absl::StatusOr<std::string> ParseArguments(CLI::App& app,
                                           std::vector<std::string> arguments) {
  // CLI11 takes them from the back.
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForVersion& version) {
    return absl::StrCat(version.what(), "\n");
  } catch (const CLI::CallForHelp&) {
    return app.help();
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(error.what());
  }
  return "";
}

}  // namespace evenpack
