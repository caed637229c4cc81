// evenpack-server: see --help.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/app/end_signals.h"
#include "server/app/library_logs.h"
#include "server/app/packing_server.h"
#include "server/app/server_options.h"
#include "server/runtime/descriptor_limit.h"
#include "server/runtime/log.h"
#include "server/runtime/one_line.h"
#include "server/runtime/standard_streams.h"
#include "server/store/open_store.h"

namespace {

constexpr int kBadInput = 2;
constexpr int kFailed = 1;

int Fail(const absl::Status& status) {
  // What a library says, as that of PostgreSQL, may have several lines.
  const std::string line = evenpack::OnOneLine(
      std::string_view(status.message().data(), status.message().size()));
  std::fputs(absl::StrCat("evenpack-server: ", line, "\n").c_str(), stderr);
  return absl::IsInvalidArgument(status) ? kBadInput : kFailed;
}

void Announce(const std::string& kind, const std::string& address) {
  if (address.empty()) return;
  std::fputs(absl::StrCat(kind, " listening on ", address, "\n").c_str(), stdout);
  std::fflush(stdout);
}

void AnnounceAll(const evenpack::PackingServer& server, const std::string& store) {
  // First, so that it stands before what clients bring about.
  evenpack::Log(evenpack::LogLevel::kInfo, "serving",
                {{"grpc", server.grpc_address()},
                 {"http", server.http_address()},
                 {"health", server.health_address()},
                 {"store", evenpack::ShownStoreName(store)}});
  Announce("grpc", server.grpc_address());
  Announce("http", server.http_address());
  Announce("health", server.health_address());
}

// Drains the server; the exit status. `lost`: all jobs are.
int Stop(evenpack::PackingServer& server, const std::atomic<bool>& lost) {
  const evenpack::Drained drained = server.Drain();
  if (drained == evenpack::Drained::kNotInTime) {
    // As where the process is killed: what isn't committed was told to nobody.
    evenpack::Log(evenpack::LogLevel::kError, "stopped before all was committed",
                  {{"because", "the store does not answer"}});
    std::_Exit(kFailed);
  }
  const bool closed = drained == evenpack::Drained::kAll;
  evenpack::Log(evenpack::LogLevel::kInfo, "stopped",
                {{"connections", closed ? "closed" : "left to the system"}});
  // All is committed: nothing is lost with the connections that hang.
  const int status = lost ? kFailed : 0;
  if (!closed) std::_Exit(status);
  return status;
}

int Serve(const evenpack::ServerOptions& options) {
  // gRPC's locks: Debian's Abseil is built to look for cycles at each of them.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const sigset_t blocked = evenpack::EndSignals::Block();
  if (const absl::Status status = evenpack::PackingServer::CheckThreads(options);
      !status.ok()) {
    return Fail(status);
  }
  evenpack::StartLog(options.log_level, options.log_format);
  evenpack::TakeLibraryLogs();
  std::atomic<bool> lost = false;
  const auto cause_of = [&lost](int signal) {
    return lost ? "all jobs are lost" : evenpack::EndSignals::NameOf(signal);
  };
  // Nobody was told of anything yet, and a store is as it would be after a kill.
  evenpack::EndSignals signals(blocked, [&lost, &cause_of](int signal) {
    evenpack::Log(evenpack::LogLevel::kInfo, "stopped before it served",
                  {{"because", cause_of(signal)}});
    std::_Exit(lost ? kFailed : 0);
  });
  const auto server = evenpack::PackingServer::Start(options, [&lost] {
    lost = true;
    kill(getpid(), SIGTERM);
  });
  if (!server.ok()) return Fail(server.status());
  signals.Serving();
  AnnounceAll(**server, options.store);
  const int signal = signals.Await();
  evenpack::Log(evenpack::LogLevel::kInfo, "draining", {{"because", cause_of(signal)}});
  return Stop(**server, lost);
}

}  // namespace

int main(int argc, char** argv) {
  evenpack::PrepareStandardStreams();
  try {
    const auto command =
        evenpack::ReadServerCommand(std::vector<std::string>(argv + 1, argv + argc));
    if (!command.ok()) return Fail(command.status());
    if (!command->text.empty()) {
      std::fputs(command->text.c_str(), stdout);
      const absl::Status status = evenpack::FlushStandardOutput();
      return status.ok() ? 0 : Fail(status);
    }
    evenpack::RaiseDescriptorLimit();
    return Serve(command->options);
  } catch (const std::exception& error) {
    return Fail(absl::InternalError(absl::StrCat("internal error: ", error.what())));
  }
}
