#include "gpu_worker/app/profile_run.h"

#include <chrono>
#include <fstream>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gpu_worker/app/profile_text.h"
#include "gpu_worker/attention/cpu_attention.h"
#include "gpu_worker/communicator/gloo_folder.h"
#include "gpu_worker/communicator/local_group.h"
#include "gpu_worker/cudnn/cuda_rank.h"
#include "server/runtime/output_file.h"

namespace evenpack::worker {
namespace {

using Print = std::function<void(const std::string&)>;
using Profile = absl::StatusOr<MeasuredProfile>;

// Of a device that nothing else uses meanwhile.
constexpr size_t kProfileBytes = size_t{64} << 30;

// Prints on rank 0.
class Shown final : public ProfileListener {
 public:
  Shown(const AttentionShape& shape, bool prints, const Print& print)
      : table_(shape), prints_(prints), print_(print) {}

  void OnSlice(const MeasuredSlice& slice) override {
    if (prints_) print_(table_.Row(slice));
  }
  void OnExchange(const MeasuredExchange& exchange) override {
    if (prints_) print_(table_.Row(exchange));
  }

 private:
  ProfileTable table_;
  const bool prints_;
  const Print& print_;
};

Profile MeasureRank(const WorkerOptions& options, const Clock& clock,
                    const Print& print, Communicator& communicator) {
  const ProfileOptions& profile = options.profile.options;
  CpuAttention engine(options.threads);
  Shown shown(profile.shape, communicator.rank() == 0 && !options.json, print);
  return MeasureProfile(profile, clock, Device::Host(), engine, communicator, shown);
}

// A rank alone: what exchanges take is the group's, not the device's.
Profile MeasureCuda(const WorkerOptions& options, const Clock& clock,
                    const Print& print) {
  CudaRankOptions of;
  of.device = *options.cuda_device;
  of.budget = kProfileBytes;
  const absl::StatusOr<std::unique_ptr<CudaRank>> rank = CudaRank::Open(of);
  if (!rank.ok()) return rank.status();
  LocalGroup group(1);
  Shown shown(options.profile.options.shape, !options.json, print);
  return MeasureProfile(options.profile.options, clock, (*rank)->device(),
                        (*rank)->engine(), group.OfRank(0), shown);
}

// Ranks as threads; of the first.
Profile MeasureThreads(const WorkerOptions& options, const Clock& clock,
                       const Print& print) {
  const uint32_t ranks = options.profile.ranks;
  LocalGroup group(ranks);
  std::vector<Profile> profiles(ranks);
  std::vector<std::thread> threads;
  threads.reserve(ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      profiles[rank] = MeasureRank(options, clock, print, group.OfRank(rank));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return std::move(profiles.front());
}

// As Linux tells it.
std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (!absl::StartsWith(line, "model name")) continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) break;
    return std::string(absl::StripAsciiWhitespace(line.substr(colon + 1)));
  }
  return "unknown processor";
}

ProfileLabel LabelOf(const WorkerOptions& options) {
  const ProfileFlags& flags = options.profile;
  ProfileLabel label;
  label.name = flags.name;
  label.hardware = flags.hardware;
  if (flags.hardware.empty()) {
    label.hardware = options.cuda_device.has_value()
                         ? absl::StrCat("CUDA device ", *options.cuda_device)
                         : ProcessorName();
  }
  label.kernel =
      options.cuda_device.has_value()
          ? absl::StrCat("CudnnAttention ", EVENPACK_VERSION)
          : absl::StrCat("CpuAttention ", EVENPACK_VERSION, ", ", options.threads,
                         options.threads == 1 ? " thread" : " threads");
  label.measured_unix_seconds = std::chrono::duration_cast<std::chrono::seconds>(
                                    std::chrono::system_clock::now().time_since_epoch())
                                    .count();
  return label;
}

bool IsFirst(const WorkerOptions& options) {
  return !options.group.has_value() || options.group->options.rank == 0;
}

// Before what may take long. None where none is wanted.
absl::StatusOr<std::optional<OutputFile>> OpenOutput(const WorkerOptions& options) {
  const std::string& path = options.profile.output;
  if (path.empty() || !IsFirst(options)) return std::nullopt;
  absl::StatusOr<OutputFile> file = OutputFile::Open("--output", path);
  if (!file.ok()) return file.status();
  return *std::move(file);
}

absl::Status Deliver(const WorkerOptions& options, const Profile& measured,
                     std::optional<OutputFile>& output, const ProfileOutlets& outlets) {
  if (!measured.ok()) return measured.status();
  const ProfileFlags& flags = options.profile;
  const std::string json = ProfileJson(*measured, LabelOf(options));
  if (options.json) outlets.print(json);
  absl::Status written = output.has_value() ? output->Commit(json) : absl::OkStatus();
  const absl::Status uploaded =
      flags.upload.empty() ? absl::OkStatus() : outlets.upload(flags.upload, json);
  if (!options.json) {
    if (!flags.upload.empty() && uploaded.ok()) {
      outlets.print(
          absl::StrCat("\nprofile ", flags.name, " is on ", flags.upload, "\n"));
    }
    // It may have taken long to measure.
    const bool is_in_file = output.has_value() && written.ok();
    if (!is_in_file && !(written.ok() && uploaded.ok())) {
      outlets.print(absl::StrCat("\n", json));
    }
  }
  written.Update(uploaded);
  return written;
}

}  // namespace

absl::Status RunProfile(const WorkerOptions& options, const Clock& clock,
                        const ProfileOutlets& outlets) {
  absl::StatusOr<std::optional<OutputFile>> output = OpenOutput(options);
  if (!output.ok()) return output.status();
  if (!options.group.has_value()) {
    const Profile profile = options.cuda_device.has_value()
                                ? MeasureCuda(options, clock, outlets.print)
                                : MeasureThreads(options, clock, outlets.print);
    return Deliver(options, profile, *output, outlets);
  }
  const auto communicator = ConnectInFolder(*options.group);
  if (!communicator.ok()) return communicator.status();
  const Profile profile = MeasureRank(options, clock, outlets.print, **communicator);
  return IsFirst(options) ? Deliver(options, profile, *output, outlets)
                          : profile.status();
}

}  // namespace evenpack::worker
