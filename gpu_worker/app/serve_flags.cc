#include "gpu_worker/app/serve_flags.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gpu_worker/arena/arena.h"
#include "server/runtime/program_flags.h"

namespace evenpack::worker {
namespace {

constexpr uint64_t kMostSeconds = uint64_t{365} * 86'400;
// More are beyond any size, and CLI11 takes them for the largest number.
constexpr size_t kMostDigits = 18;

// CLI11 reads what this lets through; of anything else it says neither what was given
// nor what is accepted. Empty: it is a size.
std::string RefusedSize(const std::string& text) {
  constexpr absl::string_view kUnits[] = {"",    "b", "k",  "kb",  "kib", "m",  "mb",
                                          "mib", "g", "gb", "gib", "t",   "tb", "tib"};
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string unit = absl::AsciiStrToLower(
      absl::StripLeadingAsciiWhitespace(absl::string_view(text).substr(digits)));
  if (digits > 0 && digits <= kMostDigits &&
      std::find(std::begin(kUnits), std::end(kUnits), unit) != std::end(kUnits)) {
    return "";
  }
  return absl::StrCat("'", text,
                      "' is not accepted; accepted: a whole number of bytes, or "
                      "of KB, MB, GB or TB, as 1536MB, up to 16TB");
}

}  // namespace

void AddServeFlags(CLI::App& app, ServeOptions& options) {
  options.trainer_user = geteuid();
  CLI::Option* const serve = app.add_flag(
      "--serve", options.serve,
      "be a rank for a trainer's process, which attaches through --socket-folder; "
      "docs/worker.md");
  app.add_option("--server", options.server,
                 "the packing server, or any of those that share its jobs")
      ->type_name("HOST:PORT[,HOST:PORT...]");
  app.add_option("--http-listen", options.http_listen,
                 "HOST:PORT of /metrics, /healthz and /readyz; default: no HTTP port")
      ->type_name("HOST:PORT");
  app.add_option("--memory", options.memory_bytes,
                 "with --serve what the trainer's tensors and the passes over them may "
                 "take together on --device, as 8GB; with --agent what it keeps of "
                 "steps (512MB)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->transform(
          CLI::Validator([](std::string& text) { return RefusedSize(text); }, ""))
      ->check(CLI::Range(uint64_t{1}, kMaxArenaBytes))
      ->type_name("BYTES")
      ->capture_default_str();
  AddLogFlags(app, options.log_level, options.log_format);
  CLI::Option* const others[] = {
      app.add_option("--socket-folder", options.socket_folder,
                     "where the worker makes its two sockets; one worker a folder")
          ->type_name("FOLDER")
          ->check(CLI::ExistingDirectory),
      AddNumber(app, "--trainer-user", options.trainer_user, 0,
                std::numeric_limits<uint32_t>::max(),
                "the user whose processes may attach, by number; default: this one"),
      AddNumber(app, "--patience-seconds", options.patience_seconds, 1, kMostSeconds,
                "how long a lost rank of the group is waited for"),
  };
  for (CLI::Option* option : others) option->needs(serve);
}

absl::Status CheckServe(const ServeOptions& options) {
  if (!options.serve) return absl::OkStatus();
  for (const auto& [flag, value] : {std::pair{"--server", &options.server},
                                    {"--socket-folder", &options.socket_folder}}) {
    if (value->empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(flag, ": missing; accepted: one with --serve (see --help)"));
    }
  }
  return absl::OkStatus();
}

}  // namespace evenpack::worker
