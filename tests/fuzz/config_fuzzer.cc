// What evenpack-server is told is refused by its name, or gives options within their
// bounds; a file says what the same flags say.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/app/config_file.h"
#include "server/app/server_options.h"
#include "server/store/open_store.h"
#include "tests/fuzz/given_file.h"
#include "tests/fuzz/require.h"

namespace evenpack::fuzz {
namespace {

auto Values(const ServerOptions& options) {
  return std::tie(
      options.listen, options.http_listen, options.store, options.max_jobs,
      options.max_step_streams, options.max_ingest_streams, options.max_group_streams,
      options.max_message_bytes, options.step_cache_bytes, options.keepalive_seconds,
      options.keepalive_timeout_seconds, options.min_ping_seconds,
      options.max_connection_age_seconds, options.connection_age_grace_seconds,
      options.drain_seconds, options.store_wait_seconds, options.wake_threads,
      options.channelz, options.max_metric_jobs, options.log_level, options.log_format);
}

void RequireInBounds(const ServerOptions& options) {
  constexpr uint64_t kMillion = 1'000'000;
  const auto within = [](uint64_t value, uint64_t least, uint64_t most) {
    Require(value >= least && value <= most, "an option is within its bounds",
            absl::StrCat(value));
  };
  within(options.max_jobs, 1, kMillion);
  within(options.max_step_streams, 1, kMillion);
  within(options.max_ingest_streams, 1, kMillion);
  within(options.max_group_streams, 1, kMillion);
  within(options.max_message_bytes, 1024, INT32_MAX);
  within(options.keepalive_seconds, 1, UINT32_MAX);
  within(options.wake_threads, 0, 1024);
  within(options.max_metric_jobs, 0, kMillion);
  RequireOk(CheckStoreName(options.store), "a store has a name");
  Require(options.channelz == "auto" || options.channelz == "on" ||
              options.channelz == "off",
          "channelz is one of its words", options.channelz);
}

void RequireRefusedOrInBounds(const absl::StatusOr<ServerCommand>& command) {
  if (!command.ok()) {
    RequireRefusal(command.status(), "what can't be served",
                   absl::StatusCode::kInvalidArgument);
  } else if (command->text.empty()) {
    RequireInBounds(command->options);
  }
}

void ReadFlags(std::string_view text) {
  const std::vector<std::string> flags =
      absl::StrSplit(absl::string_view(text.data(), text.size()), '\n');
  // It would name any file of this machine.
  if (absl::StrContains(absl::string_view(text.data(), text.size()), "config")) return;
  RequireRefusedOrInBounds(ReadServerCommand(flags));
}

void ReadConfig(const std::string& text) {
  const GivenFile file(text);
  const auto command = ReadServerCommand({absl::StrCat("--config=", file.path())});
  RequireRefusedOrInBounds(command);
  const auto values = ParseConfig(text);
  if (!values.ok()) {
    Require(command.status() == values.status(), "a file that is none is refused",
            command.status().ToString());
    return;
  }
  if (!command.ok()) return;
  std::vector<std::string> flags;
  for (const ConfigValue& value : *values) {
    Require(value.line >= 1, "a value is on a line");
    flags.push_back(absl::StrCat("--", value.name, "=", value.value));
  }
  const ServerCommand same = Required(ReadServerCommand(flags), "a file's flags");
  Require(Values(same.options) == Values(command->options),
          "a file says what its flags say");
}

}  // namespace
}  // namespace evenpack::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (text.rfind("--", 0) == 0) {
    evenpack::fuzz::ReadFlags(text);
  } else {
    evenpack::fuzz::ReadConfig(text);
  }
  return 0;
}
