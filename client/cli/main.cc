#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/interrupt.h"
#include "client/cli/online/creditless_stub.h"
#include "client/cli/online/interruptible_sleeper.h"
#include "client/cli/online/online_context.h"
#include "client/cli/online/server_flags.h"
#include "client/cli/output.h"
#include "client/cli/program.h"
#include "client/cli/progress_bar.h"
#include "client/cpp/client.h"
#include "client/cpp/grpc_stub.h"
#include "client/cpp/retry_news.h"
#include "client/cpp/retrying_connection.h"
#include "client/cpp/security_flags.h"
#include "server/runtime/first_process.h"
#include "server/runtime/one_line.h"
#include "server/runtime/standard_streams.h"
#include "server/runtime/thread_check.h"

namespace evenpack {
namespace {

// Of gRPC, which waits for ever for one that it doesn't get.
constexpr size_t kThreads = 16;

std::string DefaultServer() {
  const char* const server = std::getenv("EVENPACK_SERVER");
  return server == nullptr || *server == '\0' ? kDefaultServer : server;
}

// What the program came to, once standard output has its say: `exit_code` where it has
// nothing against that.
int Finish(int exit_code, const FileOutput& out, Output& err) {
  const absl::Status status = StandardOutputStatus(out.error());
  if (status.ok()) return exit_code;
  err.Write(absl::StrCat("evenpackctl: ", status.message(), "\n"));
  return kExitInternalError;
}

// `err` outlives all that tries.
absl::StatusOr<client::Client> Connect(const ServerFlags& server,
                                       std::shared_ptr<client::Sleeper> sleeper,
                                       Output& err) {
  if (absl::Status status = CheckThreads(kThreads); !status.ok()) return status;
  client::ClientOptions options = ClientOptionsOf(server);
  options.sleeper = std::move(sleeper);
  options.on_retry =
      client::Seldom(client::kTerminalPace, [&err](const client::RetryNews& news) {
        err.Write(InPlaceOfProgress(
            absl::StrCat("evenpackctl: note: ", OnOneLine(TextOf(news)), "\n")));
      });
  if (absl::Status status = Validate(options); !status.ok()) return status;
  std::shared_ptr<client::Stub> stub = MakeGrpcStub(options);
  if (!server.returns_credits) stub = WithoutReceived(std::move(stub));
  return client::Client(MakeRetryingConnection(std::move(stub), options));
}

int Run(const std::vector<std::string>& arguments) {
  FileOutput out(stdout);
  FileOutput err(stderr);
  Interrupt interrupt;
  const auto sleeper = std::make_shared<InterruptibleSleeper>(interrupt);
  const OnlineContext context = {
      out,
      err,
      TerminalOrNull(),
      interrupt,
      DefaultServer(),
      client::SecurityVariables(),
      [&](const ServerFlags& server) { return Connect(server, sleeper, err); }};
  return Finish(RunProgram(arguments, context), out, err);
}

}  // namespace
}  // namespace evenpack

int main(int argc, char** argv) {
  evenpack::PrepareStandardStreams();
  const std::optional<int> ended = evenpack::LeaveFirstProcess();
  if (ended.has_value()) return *ended;
  // Its lines beside this program's say less; whoever sets the variable gets them.
  setenv("GRPC_VERBOSITY", "NONE", 0);
  try {
    return evenpack::Run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    // Nothing of this project throws; the standard library does when memory ends.
    evenpack::FileOutput(stderr).Write(std::string("evenpackctl: internal error: ") +
                                       error.what() + "\n");
  }
  return evenpack::kExitInternalError;
}
