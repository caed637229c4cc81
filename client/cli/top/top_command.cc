#include "client/cli/top/top_command.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/json_text.h"
#include "client/cli/online/interruptible_sleeper.h"
#include "client/cli/online/message_json.h"
#include "client/cli/top/top_frames.h"
#include "evenpack/v1/observation.pb.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack {
namespace {

constexpr double kLeastInterval = 0.1;
constexpr double kMostInterval = 3600;
// What the server keeps of a job.
constexpr size_t kMostObservedSteps = 240;

struct TopFlags {
  // Empty: all jobs.
  std::string job;
  std::chrono::nanoseconds interval{};
  bool json = false;
  bool once = false;
};

absl::StatusOr<TopFlags> ReadTopFlags(const FlagValues& values, bool on_terminal) {
  FlagReader reader(values);
  TopFlags flags;
  flags.job = reader.Text("--job", "the job's name", "");
  const double seconds = reader.Real("--interval", kLeastInterval, kMostInterval, 1);
  flags.interval = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(seconds));
  flags.json = IsGiven(values, "--json");
  flags.once = IsGiven(values, "--once") || (!flags.json && !on_terminal);
  if (!reader.status().ok()) return reader.status();
  return flags;
}

// A look at the server: a line of JSON, or else a frame.
class Look {
 public:
  Look(const TopFlags& flags, client::Client client)
      : flags_(flags), client_(std::move(client)) {}

  absl::StatusOr<std::vector<std::string>> Lines(const FrameStyle& style) {
    return flags_.job.empty() ? JobsLines(style) : JobLines(style);
  }

 private:
  absl::StatusOr<std::vector<std::string>> JobsLines(const FrameStyle& style) {
    const absl::StatusOr<v1::ListJobsResponse> jobs = client_.ListJobs();
    if (!jobs.ok()) return jobs.status();
    if (flags_.json) return std::vector<std::string>{JsonLine(MessageJson(*jobs))};
    return JobsFrame(*jobs, style);
  }
  absl::StatusOr<std::vector<std::string>> JobLines(const FrameStyle& style) {
    v1::ObserveJobRequest request;
    request.set_job(flags_.job);
    // As many as there could be lines.
    const size_t steps = flags_.json ? 0 : std::min(style.rows, kMostObservedSteps);
    request.set_steps(static_cast<uint32_t>(steps));
    const absl::StatusOr<v1::ObserveJobResponse> job = client_.ObserveJob(request);
    if (!job.ok()) return job.status();
    if (flags_.json) return std::vector<std::string>{JsonLine(MessageJson(*job))};
    return JobFrame(*job, style);
  }

  const TopFlags& flags_;
  client::Client client_;
};

// Looks and shows until `show` fails or the interrupt comes. CANCELLED by SIGTERM.
absl::Status Repeat(Look& look, const TopFlags& flags, const OnlineContext& context,
                    const TerminalSizeNow& size,
                    const std::function<bool(const std::vector<std::string>&)>& show) {
  const SignalGuard guard(context.interrupt);
  InterruptibleSleeper sleeper(context.interrupt);
  do {
    const auto lines = look.Lines(StyleOf(size()));
    if (context.interrupt.IsRequested()) break;
    if (!lines.ok()) return lines.status();
    if (!show(*lines)) break;
  } while (sleeper.Sleep(flags.interval, {}));
  if (context.interrupt.signal() == SIGTERM) return absl::CancelledError("SIGTERM");
  return absl::OkStatus();
}

absl::Status ShowOnce(Look& look, const TopFlags& flags, const OnlineContext& context,
                      const TerminalSizeNow& size) {
  FrameStyle style = StyleOf(size());
  // The prompt comes below.
  if (size().has_value() && style.rows > 1) --style.rows;
  const auto lines = look.Lines(style);
  if (!lines.ok()) return lines.status();
  context.out.Write(absl::StrCat(absl::StrJoin(*lines, "\n"), flags.json ? "" : "\n"));
  return absl::OkStatus();
}

}  // namespace

absl::Status RunTopOn(const FlagValues& values, const OnlineContext& context,
                      const TerminalSizeNow& size) {
  const absl::StatusOr<TopFlags> flags = ReadTopFlags(values, size().has_value());
  if (!flags.ok()) return flags.status();
  absl::StatusOr<client::Client> client = Connect(values, context);
  if (!client.ok()) return client.status();
  Look look(*flags, *std::move(client));
  if (flags->once) return ShowOnce(look, *flags, context, size);
  if (flags->json) {
    return Repeat(look, *flags, context, size,
                  [&context](const std::vector<std::string>& lines) {
                    return context.out.Write(lines.front());
                  });
  }
  AlternateScreen screen(context.out);
  return Repeat(
      look, *flags, context, size,
      [&screen](const std::vector<std::string>& lines) { return screen.Show(lines); });
}

absl::Status RunTop(const FlagValues& values, const OnlineContext& context) {
  return RunTopOn(values, context, StandardOutputSize);
}

}  // namespace evenpack
