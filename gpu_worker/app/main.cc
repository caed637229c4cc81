// evenpack-worker: see --help.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/security_flags.h"
#include "gpu_worker/app/agent_run.h"
#include "gpu_worker/app/profile_run.h"
#include "gpu_worker/app/profile_upload.h"
#include "gpu_worker/app/selftest_text.h"
#include "gpu_worker/app/serve_run.h"
#include "gpu_worker/app/thread_needs.h"
#include "gpu_worker/app/worker_options.h"
#include "gpu_worker/attention/cpu_attention.h"
#include "gpu_worker/communicator/gloo_folder.h"
#include "gpu_worker/selftest/device_cases.h"
#include "gpu_worker/selftest/selftest.h"
#include "server/runtime/descriptor_limit.h"
#include "server/runtime/first_process.h"
#include "server/runtime/standard_streams.h"
#include "server/runtime/thread_check.h"

namespace {

using evenpack::worker::ConnectInFolder;
using evenpack::worker::CpuAttention;
using evenpack::worker::CudaRankOptions;
using evenpack::worker::DeviceCases;
using evenpack::worker::OnRank;
using evenpack::worker::OnThreads;
using evenpack::worker::ReadWorkerCommand;
using evenpack::worker::RunProfile;
using evenpack::worker::RunSelftest;
using evenpack::worker::SelftestJson;
using evenpack::worker::SelftestOptions;
using evenpack::worker::SelftestReport;
using evenpack::worker::SelftestText;
using evenpack::worker::ThreadsNeeded;
using evenpack::worker::UploadProfile;
using evenpack::worker::WorkerOptions;

constexpr int kBadInput = 2;
constexpr int kFailed = 1;

int Fail(const absl::Status& status) {
  std::fputs(absl::StrCat("evenpack-worker: ", status.message(), "\n").c_str(), stderr);
  return absl::IsInvalidArgument(status) ? kBadInput : kFailed;
}

// 0 where all came out that was written.
int Finish() {
  const absl::Status status = evenpack::FlushStandardOutput();
  return status.ok() ? 0 : Fail(status);
}

void ShowProgress(uint64_t done, uint64_t cases) {
  if (isatty(STDERR_FILENO) == 0) return;
  std::fputs(absl::StrCat("\r", done, " of ", cases, done == cases ? "\n" : "").c_str(),
             stderr);
}

absl::Status Run(const WorkerOptions& options, SelftestReport& report) {
  const SelftestOptions& selftest = options.selftest_options;
  const auto show = [&](uint64_t done) { ShowProgress(done, selftest.cases); };
  if (options.cuda_device.has_value()) {
    CudaRankOptions of;
    of.device = *options.cuda_device;
    const auto cases = DeviceCases::Open(of, selftest.max_ranks);
    if (!cases.ok()) return cases.status();
    return RunSelftest(selftest, (*cases)->Runner(), show, report);
  }
  if (!options.group.has_value()) {
    const auto make_engine = [&options] {
      return std::make_unique<CpuAttention>(options.threads);
    };
    return RunSelftest(selftest, OnThreads(make_engine), show, report);
  }
  const auto communicator = ConnectInFolder(*options.group);
  if (!communicator.ok()) return communicator.status();
  CpuAttention engine(options.threads);
  return RunSelftest(selftest, OnRank(**communicator, engine), show, report);
}

int Selftest(const WorkerOptions& options) {
  SelftestReport report;
  const absl::Status status = Run(options, report);
  if (!status.ok()) return Fail(status);
  const SelftestOptions& selftest = options.selftest_options;
  std::fputs(
      (options.json ? SelftestJson(selftest, report) : SelftestText(selftest, report))
          .c_str(),
      stdout);
  return Finish();
}

int Profile(const WorkerOptions& options) {
  const absl::Status status =
      RunProfile(options, evenpack::Clock::Steady(),
                 {[](const std::string& text) {
                    std::fputs(text.c_str(), stdout);
                    std::fflush(stdout);
                  },
                  [&](const auto& address, const auto& json) {
                    return UploadProfile(address, options.security, json);
                  }});
  return status.ok() ? Finish() : Fail(status);
}

}  // namespace

int main(int argc, char** argv) {
  evenpack::PrepareStandardStreams();
  try {
    const auto command =
        ReadWorkerCommand(std::vector<std::string>(argv + 1, argv + argc),
                          evenpack::client::SecurityVariables());
    if (!command.ok()) return Fail(command.status());
    if (!command->text.empty()) {
      std::fputs(command->text.c_str(), stdout);
      return Finish();
    }
    // The others have handlers of the signals that end them.
    if (command->options.selftest || command->options.profile.profile) {
      const std::optional<int> ended = evenpack::LeaveFirstProcess();
      if (ended.has_value()) return *ended;
    }
    if (const absl::Status status =
            evenpack::CheckThreads(ThreadsNeeded(command->options));
        !status.ok()) {
      return Fail(status);
    }
    if (command->options.selftest) return Selftest(command->options);
    if (command->options.profile.profile) return Profile(command->options);
    evenpack::RaiseDescriptorLimit();
    const absl::Status status = command->options.agent.agent
                                    ? evenpack::worker::RunAgent(command->options)
                                    : evenpack::worker::Serve(command->options);
    return status.ok() ? 0 : Fail(status);
  } catch (const std::exception& error) {
    return Fail(absl::InternalError(absl::StrCat("internal error: ", error.what())));
  }
}
