#include "gpu_worker/app/security_options.h"

#include <CLI/CLI.hpp>

#include "client/cpp/security_flags.h"

namespace evenpack::worker {

void AddSecurityFlags(CLI::App& app) {
  for (const client::SecurityFlag& flag : client::SecurityFlags()) {
    CLI::Option* const option =
        flag.value == nullptr ? app.add_flag(flag.name) : app.add_option(flag.name);
    option->description(flag.help)->group(client::kSecurityGroup);
    if (flag.value != nullptr) option->type_name(flag.placeholder);
  }
}

absl::StatusOr<client::Security> GivenSecurity(
    const CLI::App& app, const std::map<std::string, std::string>& variables,
    const std::string& address) {
  std::map<std::string, std::string> given;
  for (const client::SecurityFlag& flag : client::SecurityFlags()) {
    const CLI::Option& option = *app.get_option(flag.name);
    if (option.count() > 0) given[flag.name] = option.results().back();
  }
  return client::ReadSecurity(given, variables, address);
}

}  // namespace evenpack::worker
