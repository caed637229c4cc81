#include "gpu_worker/app/worker_options.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cpp/security_flags.h"
#include "gpu_worker/app/security_options.h"
#include "server/runtime/program_flags.h"

namespace evenpack::worker {
namespace {

constexpr uint32_t kMostRanks = 64;
constexpr uint32_t kMostDevices = 64;
// The definition takes time with the square of it.
constexpr uint32_t kLongest = 4096;

// Flags of a group, of which the folder tells whether there is one.
struct GroupFlags {
  GlooFolder group;
  CLI::Option* folder = nullptr;
};

void AddGroupFlags(CLI::App& app, GroupFlags& flags) {
  GlooOptions& options = flags.group.options;
  flags.folder = app.add_option("--group-folder", flags.group.folder,
                                "this process is one rank of a group, whose ranks find "
                                "each other in this folder; else all ranks are threads")
                     ->type_name("FOLDER")
                     ->check(CLI::ExistingDirectory);
  CLI::Option* const others[] = {
      app.add_option("--group", flags.group.group,
                     "the group's name, which no other had in the folder")
          ->type_name("NAME")
          ->capture_default_str(),
      AddNumber(app, "--ranks", options.ranks, 1, 1024, "ranks of the group"),
      AddNumber(app, "--rank", options.rank, 0, 1023, "this process' rank"),
  };
  for (CLI::Option* option : others) option->needs(flags.folder);
}

void AddFlags(CLI::App& app, WorkerOptions& options, std::string& device) {
  app.add_flag("--selftest", options.selftest,
               "execute random micro-batches over groups of ranks, forward and "
               "backward, compare them with attention by its definition in double "
               "precision, and say what was checked");
  SelftestOptions& selftest = options.selftest_options;
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  AddNumber(app, "--cases", selftest.cases, 1, 1'000'000, "micro-batches");
  AddNumber(app, "--seed", selftest.seed, 0, kMost, "of what is drawn");
  AddNumber(app, "--first-case", selftest.first_case, 0, kMost,
            "the first one's number, to repeat one that failed");
  AddNumber(app, "--max-ranks", selftest.max_ranks, 1, kMostRanks,
            "most ranks of a group");
  AddNumber(app, "--max-length", selftest.max_length, 1, kLongest,
            "longest document, in tokens");
  AddNumber(app, "--threads", options.threads, 1, 1024, "threads of each rank");
  app.add_option("--device", device,
                 "where a selftest, a profile or a rank (--serve) computes: cpu, cuda, "
                 "or cuda:NUMBER; all ranks of a selftest on a CUDA device are threads "
                 "of this process, and a profile has one")
      ->type_name("DEVICE")
      ->capture_default_str();
  app.add_option("--host", options.host, "the address that peers reach this rank at")
      ->type_name("HOST")
      ->capture_default_str();
  AddNumber(app, "--group-timeout-seconds", options.group_timeout_seconds, 1, 86'400,
            "how long ranks that are processes wait for each other");
  app.add_flag("--json", options.json, "print one object of JSON");
}

// What --device says.
absl::Status SetDevice(const std::string& device, WorkerOptions& options) {
  if (device == "cpu") return absl::OkStatus();
  absl::string_view number = device;
  uint32_t index = 0;
  const bool is_cuda = absl::ConsumePrefix(&number, "cuda") &&
                       (number.empty() || (absl::ConsumePrefix(&number, ":") &&
                                           absl::SimpleAtoi(number, &index)));
  if (!is_cuda || index >= kMostDevices) {
    return absl::InvalidArgumentError(
        absl::StrCat("--device: '", device,
                     "' is not accepted; accepted: cpu, cuda or cuda:NUMBER, 0 to ",
                     kMostDevices - 1));
  }
  if (!options.selftest && !options.profile.profile && !options.serve.serve) {
    return absl::InvalidArgumentError(
        "--device: requires --selftest, --profile or --serve");
  }
  options.cuda_device = static_cast<int>(index);
  options.selftest_options.types = {ElementType::kBfloat16, ElementType::kFloat16};
  options.selftest_options.accepted = AcceptedErrorOfCudnn;
  return absl::OkStatus();
}

// What single flags can't tell.
absl::Status CheckModes(const WorkerOptions& options) {
  const int modes =
      static_cast<int>(options.selftest) + static_cast<int>(options.profile.profile) +
      static_cast<int>(options.serve.serve) + static_cast<int>(options.agent.agent);
  if (modes != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(modes,
                     " modes were given; accepted: --selftest, --profile, --serve "
                     "or --agent (see --help)"));
  }
  absl::Status status = CheckProfileFlags(options.profile);
  if (status.ok()) status = CheckServe(options.serve);
  return status.ok() ? CheckAgent(options.agent, options.serve) : status;
}

// CLI11 knows of flags that need another, not of those that need one of two.
absl::Status CheckShared(const CLI::App& app, const WorkerOptions& options) {
  if (options.serve.serve || options.agent.agent) return absl::OkStatus();
  for (const char* flag :
       {"--server", "--http-listen", "--memory", "--log-level", "--log-format"}) {
    if (app.get_option(flag)->count() == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(flag, ": requires --serve or --agent"));
  }
  return absl::OkStatus();
}

// The packing server; empty where none is reached.
const std::string& ServerOf(const WorkerOptions& options) {
  return options.profile.profile ? options.profile.upload : options.serve.server;
}

// What the environment says is for whatever reaches a server; a flag is a mistake where
// nothing does.
absl::Status SetSecurity(const CLI::App& app,
                         const std::map<std::string, std::string>& variables,
                         WorkerOptions& options) {
  if (ServerOf(options).empty()) {
    for (const client::SecurityFlag& flag : client::SecurityFlags()) {
      if (app.get_option(flag.name)->count() == 0) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(flag.name, ": requires --serve, --agent or --upload"));
    }
    return absl::OkStatus();
  }
  absl::StatusOr<client::Security> security =
      GivenSecurity(app, variables, ServerOf(options));
  if (!security.ok()) return security.status();
  options.security = *std::move(security);
  return absl::OkStatus();
}

// A selftest among processes, where --group-folder says so.
absl::Status SetGroup(const GroupFlags& flags, WorkerOptions& options) {
  if (flags.folder->count() == 0) return absl::OkStatus();
  if (options.cuda_device.has_value()) {
    return absl::InvalidArgumentError(
        "--device: ranks of a CUDA device are threads; accepted with --group-folder: "
        "cpu");
  }
  options.group = flags.group;
  GlooOptions& group = options.group->options;
  if (group.rank >= group.ranks) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--rank: ", group.rank, " is not accepted; accepted: 0 to --ranks - 1, ",
        group.ranks - 1));
  }
  group.host = options.host;
  group.connect_timeout = std::chrono::seconds(options.group_timeout_seconds);
  group.exchange_timeout = group.connect_timeout;
  options.selftest_options.min_ranks = group.ranks;
  options.selftest_options.max_ranks = group.ranks;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<WorkerCommand> ReadWorkerCommand(
    const std::vector<std::string>& arguments,
    const std::map<std::string, std::string>& variables) {
  WorkerCommand command;
  CLI::App app(
      "Executes the attention of a context-parallel group, as a rank beside its "
      "trainer (--serve), to test itself (--selftest), or to measure what it takes "
      "(--profile). Or passes a node's ranks the steps of the packing server "
      "(--agent).",
      "evenpack-worker");
  app.set_version_flag("--version", absl::StrCat("evenpack-worker ", EVENPACK_VERSION));
  std::string device = "cpu";
  AddFlags(app, command.options, device);
  AddProfileFlags(app, command.options.profile);
  GroupFlags flags;
  flags.group.group = "group";
  AddGroupFlags(app, flags);
  AddServeFlags(app, command.options.serve);
  AddAgentFlags(app, command.options.agent);
  AddSecurityFlags(app);
  absl::StatusOr<std::string> text = ParseArguments(app, arguments);
  if (!text.ok()) return text.status();
  command.text = *std::move(text);
  if (!command.text.empty()) return command;
  absl::Status status = CheckModes(command.options);
  if (status.ok()) status = CheckShared(app, command.options);
  if (status.ok()) status = SetDevice(device, command.options);
  if (status.ok()) status = SetSecurity(app, variables, command.options);
  if (status.ok()) status = SetGroup(flags, command.options);
  if (!status.ok()) return status;
  if (command.options.agent.agent && app.get_option("--memory")->count() == 0) {
    command.options.serve.memory_bytes = kAgentMemoryBytes;
  }
  return command;
}

}  // namespace evenpack::worker
