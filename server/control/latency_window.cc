#include "server/control/latency_window.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "server/core/sharding/adaptive.h"

namespace evenpack {
namespace {

// Micro-batches times CP ranks that all gathered steps may have together: 128 KiB of
// what was reported, and so much more of ranks.
constexpr uint64_t kMaxCells = uint64_t{1} << 20;
constexpr double kSecondsPerNanosecond = 1e-9;

size_t MaxSteps(const JobSpec& spec) {
  const uint64_t cells = uint64_t{spec.micro_batches} * spec.context_parallel;
  return static_cast<size_t>(std::clamp<uint64_t>(
      kMaxCells / std::max<uint64_t>(1, cells), 1, LatencyWindow::kMaxSteps));
}

int64_t PerPass(int64_t ns, uint32_t passes) { return passes == 0 ? 0 : ns / passes; }

void Add(int64_t ns, int64_t& sum) { sum = std::min(sum + ns, kMaxRankNs); }

double Seconds(int64_t ns) { return static_cast<double>(ns) * kSecondsPerNanosecond; }

// dp_rank and cp_rank.
using Rank = std::pair<uint32_t, uint32_t>;

bool HasRanksOf(const JobSpec& spec, const StepLatency& latency) {
  return latency.context_parallel == spec.context_parallel &&
         latency.ranks.size() == size_t{spec.data_parallel} * spec.context_parallel;
}

struct Lateness {
  uint64_t steps = 0;
  double seconds = 0;
};

// Of ranks that were late as often, the later one first.
std::vector<LateRankFigures> MostOftenLate(const std::map<Rank, Lateness>& late) {
  std::vector<LateRankFigures> ranks;
  ranks.reserve(late.size());
  for (const auto& [rank, of] : late) {
    ranks.push_back({rank.first, rank.second, of.steps,
                     of.seconds / static_cast<double>(of.steps)});
  }
  std::ranges::stable_sort(ranks, std::ranges::greater(), [](const auto& rank) {
    return std::pair(rank.steps, rank.mean_seconds);
  });
  ranks.resize(std::min(ranks.size(), LateRankFigures::kMost));
  return ranks;
}

}  // namespace

LatencyWindow::Gathered LatencyWindow::Begin(const PublishedStep& step) {
  const JobSpec& spec = *step.spec;
  const uint32_t context_parallel = spec.context_parallel;
  const uint32_t per_rank = spec.micro_batches / spec.data_parallel;
  Gathered gathered;
  gathered.epoch = step.step.epoch;
  gathered.latency.step = step.step.index;
  gathered.latency.context_parallel = context_parallel;
  gathered.latency.ranks.resize(size_t{spec.data_parallel} * context_parallel);
  gathered.missing.resize(gathered.latency.ranks.size());
  gathered.reported.resize(size_t{spec.micro_batches} * context_parallel, true);
  for (uint32_t i = 0; i < spec.micro_batches; ++i) {
    if (step.step.micro_batches[i].documents.empty()) continue;
    const size_t first_rank = size_t{i / per_rank} * context_parallel;
    std::vector<int64_t> predicted(context_parallel, 0);
    if (!spec.kernel_latency.empty()) {
      predicted = PredictRankNs(step.plans[i], spec.kernel_latency);
    }
    for (uint32_t cp_rank = 0; cp_rank < context_parallel; ++cp_rank) {
      evenpack::Add(std::min(predicted[cp_rank], kMaxRankNs),
                    gathered.latency.ranks[first_rank + cp_rank].predicted_forward_ns);
      gathered.reported[size_t{i} * context_parallel + cp_rank] = false;
      ++gathered.missing[first_rank + cp_rank];
    }
  }
  gathered.latency.ranks_reported = static_cast<uint64_t>(
      std::count(gathered.missing.begin(), gathered.missing.end(), 0U));
  return gathered;
}

LatencyWindow::Gathered* LatencyWindow::Find(const PublishedStep& step) {
  const uint64_t index = step.step.index;
  if (index < first_) return nullptr;
  const auto found = steps_.find(index);
  if (found != steps_.end()) {
    Gathered& gathered = found->second;
    // A report may come between the new shape and Withdraw(), or one of a step that was
    // withdrawn meanwhile behind it: that of another epoch has other ranks.
    if (gathered.epoch > step.step.epoch) return nullptr;
    if (gathered.epoch < step.step.epoch) gathered = Begin(step);
    return &gathered;
  }
  Gathered* const added = &steps_.emplace(index, Begin(step)).first->second;
  while (steps_.size() > MaxSteps(*step.spec)) {
    first_ = steps_.begin()->first + 1;
    steps_.erase(steps_.begin());
  }
  return index < first_ ? nullptr : added;
}

void LatencyWindow::Add(const PublishedStep& step, uint32_t dp_rank, uint32_t cp_rank,
                        uint32_t micro_batch, const MeasuredAttention& measured) {
  MutexLock lock(mutex_);
  expects_reports_ = true;
  Gathered* const gathered = Find(step);
  if (gathered != nullptr) Count(*gathered, dp_rank, cp_rank, micro_batch, measured);
}

void LatencyWindow::ExpectReports() {
  MutexLock lock(mutex_);
  expects_reports_ = true;
}

void LatencyWindow::LetGo(std::span<const std::shared_ptr<const PublishedStep>> steps) {
  MutexLock lock(mutex_);
  if (!expects_reports_) return;
  // A mark may let go of very many at once.
  for (const auto& step : steps.last(std::min(steps.size(), kMaxSteps))) Find(*step);
}

void LatencyWindow::AddLate(uint64_t step, uint32_t dp_rank, uint32_t cp_rank,
                            uint32_t micro_batch, const MeasuredAttention& measured) {
  MutexLock lock(mutex_);
  expects_reports_ = true;
  const auto found = steps_.find(step);
  if (found == steps_.end()) return;
  Gathered& gathered = found->second;
  const uint32_t per_rank = gathered.micro_batches() / gathered.data_parallel();
  if (cp_rank >= gathered.latency.context_parallel ||
      micro_batch >= gathered.micro_batches() || micro_batch / per_rank != dp_rank) {
    return;
  }
  Count(gathered, dp_rank, cp_rank, micro_batch, measured);
}

void LatencyWindow::Count(Gathered& gathered, uint32_t dp_rank, uint32_t cp_rank,
                          uint32_t micro_batch, const MeasuredAttention& measured) {
  StepLatency& latency = gathered.latency;
  const uint32_t context_parallel = latency.context_parallel;
  const size_t cell = size_t{micro_batch} * context_parallel + cp_rank;
  if (gathered.reported[cell]) return;
  gathered.reported[cell] = true;
  gathered.has_reports = true;
  const size_t index = size_t{dp_rank} * context_parallel + cp_rank;
  RankLatency& rank = latency.ranks[index];
  evenpack::Add(PerPass(measured.forward_ns, measured.forward_passes), rank.forward_ns);
  evenpack::Add(PerPass(measured.backward_ns, measured.backward_passes),
                rank.backward_ns);
  evenpack::Add(PerPass(measured.waited_ns,
                        std::max(measured.forward_passes, measured.backward_passes)),
                rank.waited_ns);
  if (--gathered.missing[index] > 0) return;
  if (++latency.ranks_reported == latency.ranks.size()) Finish(latency);
}

void LatencyWindow::Finish(StepLatency& latency) {
  std::vector<RankTime> times;
  times.reserve(latency.ranks.size());
  for (const RankLatency& rank : latency.ranks) {
    times.push_back({rank.predicted_forward_ns,
                     std::min(rank.forward_ns + rank.backward_ns, kMaxRankNs),
                     rank.waited_ns});
    if (rank.predicted_forward_ns > 0 && rank.forward_ns > 0) {
      excess_.attention_over_predicted.Observe(
          static_cast<double>(rank.forward_ns) /
          static_cast<double>(rank.predicted_forward_ns));
    }
  }
  latency.excess = SplitExcess(times, latency.context_parallel);
  if (!latency.excess.has_value()) return;
  const StepExcess& excess = *latency.excess;
  ++excess_.steps;
  excess_.even_seconds += Seconds(excess.even_ns);
  excess_.seconds[0] += Seconds(excess.packing_ns);
  excess_.seconds[1] += Seconds(excess.cp_sharding_ns);
  excess_.seconds[2] += Seconds(excess.communication_ns);
  excess_.seconds[3] += Seconds(excess.machine_ns);
}

void LatencyWindow::Withdraw(uint64_t from_step) {
  MutexLock lock(mutex_);
  steps_.erase(steps_.lower_bound(from_step), steps_.end());
  first_ = std::min(first_, from_step);
}

std::vector<StepLatency> LatencyWindow::Steps(size_t most) const {
  MutexLock lock(mutex_);
  std::vector<StepLatency> steps;
  for (auto step = steps_.rbegin(); step != steps_.rend() && steps.size() < most;
       ++step) {
    if (step->second.has_reports) steps.push_back(step->second.latency);
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

void LatencyWindow::AddTo(const JobSpec* now, JobFigures& figures) const {
  MutexLock lock(mutex_);
  figures.excess = excess_;
  if (now == nullptr) return;
  std::map<Rank, Lateness> late;
  for (const auto& [index, gathered] : steps_) {
    const StepLatency& latency = gathered.latency;
    if (!latency.excess.has_value() || !HasRanksOf(*now, latency)) continue;
    ++figures.excess.window_steps;
    const StepExcess& excess = *latency.excess;
    if (excess.late_ns == 0) continue;
    const auto rank = static_cast<uint32_t>(excess.latest_rank);
    Lateness& of = late[{rank / latency.context_parallel,  //
                         rank % latency.context_parallel}];
    ++of.steps;
    of.seconds += Seconds(excess.late_ns);
  }
  figures.excess.late_ranks = MostOftenLate(late);
}

}  // namespace evenpack
