#include "gpu_worker/app/profile_flags.h"

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cpp/server_addresses.h"
#include "server/runtime/program_flags.h"

namespace evenpack::worker {
namespace {

constexpr char kGroup[] = "Profile";
constexpr uint64_t kMostTokens = 131'072;
constexpr uint64_t kMostBytes = uint64_t{1} << 32;

void AddText(CLI::App& app, const std::string& flag, std::string& value,
             const std::string& type, const std::string& help) {
  app.add_option(flag, value, help)->type_name(type)->group(kGroup);
}

// A type's name as its number, which CLI11 reads an enumeration from.
std::string ElementTypeNumber(const std::string& name) {
  const std::optional<ElementType> type = ElementTypeNamed(name);
  if (type.has_value()) return std::to_string(static_cast<int>(*type));
  throw CLI::ValidationError(
      "'" + name + "' is not accepted; accepted: float32, bfloat16 or float16");
}

}  // namespace

void AddProfileFlags(CLI::App& app, ProfileFlags& flags) {
  app.add_flag("--profile", flags.profile,
               "measure attention over lengths of queries and keys, and exchanges over "
               "sizes; print a table, or with --json the CostProfile")
      ->group(kGroup);
  ProfileOptions& options = flags.options;
  options.shape.query_heads = 8;
  options.shape.kv_heads = 2;
  options.shape.head_size = 128;
  const auto number = [&app](const std::string& flag, auto& value, uint64_t least,
                             uint64_t most, const std::string& help) {
    AddNumber(app, flag, value, least, most, help)->group(kGroup);
  };
  number("--longest", options.longest, 256, kMostTokens,
         "tokens of the longest slice; the others have 128, 256, 512, ...");
  number("--query-heads", options.shape.query_heads, 1, kMaxHeads,
         "query heads of a rank");
  number("--kv-heads", options.shape.kv_heads, 1, kMaxHeads, "KV heads of a rank");
  number("--head-size", options.shape.head_size, 64, 256,
         "elements of a head: 64, 128, 192 or 256");
  app.add_option("--element-type", options.shape.type, "what tensors hold")
      ->transform(ElementTypeNumber)
      ->type_name("float32|bfloat16|float16")
      ->group(kGroup);
  number("--repetitions", options.repetitions.counted, 1, 1000,
         "runs of which the median counts, after one that does not");
  number("--most-exchange-bytes", options.most_exchange_bytes, 4096, kMostBytes,
         "what a rank receives in the largest exchange");
  number("--profile-ranks", flags.ranks, 1, 64,
         "ranks, as threads of this process; --group-folder has its own number");
  AddText(app, "--hardware", flags.hardware, "TEXT",
          "what the profile says of the machine (its processor's name)");
  AddText(app, "--output", flags.output, "FILE",
          "write the CostProfile as JSON, which evenpackctl profiles put reads");
  AddText(app, "--upload", flags.upload, "HOST:PORT[,HOST:PORT...]",
          "give it to this evenpack-server, in place of the one of its name");
  AddText(app, "--name", flags.name, "NAME", "the profile's name");
}

absl::Status CheckProfileFlags(const ProfileFlags& flags) {
  if (!flags.profile) return absl::OkStatus();
  if (absl::Status status = Check(flags.options.shape); !status.ok()) return status;
  if (flags.upload.empty()) return absl::OkStatus();
  if (flags.name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--upload: '", flags.upload,
                     "' without --name is not accepted; accepted: with --name NAME"));
  }
  return client::ServerAddresses("--upload", flags.upload).status();
}

}  // namespace evenpack::worker
