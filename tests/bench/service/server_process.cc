#include "tests/bench/service/server_process.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace evenpack::bench {
namespace {

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "process_bench: %s\n", what.c_str());
  std::exit(1);
}

}  // namespace

ServerProcess::ServerProcess(const std::string& program, const std::string& store,
                             const std::vector<std::string>& more_flags) {
  std::array<int, 2> output;
  if (pipe(output.data()) != 0) Fail("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, output[0]);
  std::vector<std::string> flags = {program, "--listen=127.0.0.1:0",
                                    "--http-listen=", "--log-level=error",
                                    absl::StrCat("--store=", store)};
  flags.insert(flags.end(), more_flags.begin(), more_flags.end());
  std::vector<char*> arguments;
  for (std::string& flag : flags) arguments.push_back(flag.data());
  arguments.push_back(nullptr);
  if (posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments.data(),
                  environ) != 0) {
    Fail(absl::StrCat("can't start ", program));
  }
  posix_spawn_file_actions_destroy(&actions);
  close(output[1]);
  FILE* const lines = fdopen(output[0], "r");
  std::array<char, 256> line;
  while (address_.empty() && std::fgets(line.data(), line.size(), lines) != nullptr) {
    absl::string_view text = line.data();
    if (absl::ConsumePrefix(&text, "grpc listening on ")) {
      address_ = std::string(absl::StripSuffix(text, "\n"));
    }
  }
  std::fclose(lines);
  if (address_.empty()) Fail(absl::StrCat(program, " did not come up"));
}

ServerProcess::~ServerProcess() {
  if (process_ == 0) return;
  kill(process_, SIGTERM);
  waitpid(process_, nullptr, 0);
}

void ServerProcess::Kill() {
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = 0;
}

ServerProcess::Usage ServerProcess::Now() const {
  // Fields 14 and 15 of stat, counted from behind the name in parentheses: field 3 is
  // the first there.
  std::ifstream stat(absl::StrCat("/proc/", process_, "/stat"));
  std::string text;
  std::getline(stat, text);
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  Usage usage;
  usage.processor_seconds = (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  std::ifstream memory(absl::StrCat("/proc/", process_, "/statm"));
  double pages = 0;
  memory >> pages >> pages;
  usage.resident_mib = pages * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
  std::ifstream status(absl::StrCat("/proc/", process_, "/status"));
  for (std::string name; status >> name;) {
    if (name != "VmHWM:") continue;
    double kibibytes = 0;
    status >> kibibytes;
    usage.peak_mib = kibibytes / 1024;
  }
  return usage;
}

}  // namespace evenpack::bench
