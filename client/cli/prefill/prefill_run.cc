#include "client/cli/prefill/prefill_run.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "client/cli/percentile.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr int64_t kMostNs = int64_t{1} << 62;
constexpr double kNsPerSecond = 1e9;

class PrefillRun {
 public:
  PrefillRun(const PrefillRequests& requests, Discipline discipline,
             const BatchLimits& limits, std::optional<uint64_t> max_delay,
             const WorkloadTable& workload)
      : requests_(requests),
        replicas_(limits.replicas),
        max_delay_(max_delay),
        workload_(workload),
        former_(discipline, limits, workload),
        waiting_(requests.lengths) {
    first_batch_.reserve(requests.lengths.size());
    ttft_.reserve(requests.lengths.size());
  }

  absl::StatusOr<PrefillFigures> Run() {
    const size_t all = requests_.lengths.size();
    while (first_batch_.size() < all || !waiting_.empty()) {
      if (waiting_.empty()) {
        now_ns_ = std::max(now_ns_, requests_.arrivals_ns[first_batch_.size()]);
      }
      Admit();
      if (!Compute(former_.Form(waiting_, Overdue()))) {
        return InvalidField("--rate", "too much work",
                            "requests that take less than 2^62 ns");
      }
    }
    return Figures();
  }

 private:
  // Those that have arrived. The batches so far are those that they saw none of.
  void Admit() {
    while (first_batch_.size() < requests_.lengths.size() &&
           requests_.arrivals_ns[first_batch_.size()] <= now_ns_) {
      waiting_.Add(static_cast<uint32_t>(first_batch_.size()));
      first_batch_.push_back(figures_.batches);
    }
  }

  uint64_t DelayOf(uint32_t request) const {
    return figures_.batches - first_batch_[request];
  }

  // The oldest have let most batches pass.
  size_t Overdue() const {
    if (!max_delay_.has_value()) return 0;
    size_t overdue = 0;
    for (const uint32_t request : waiting_.by_arrival()) {
      if (DelayOf(request) < *max_delay_) break;
      ++overdue;
    }
    return overdue;
  }

  int64_t WorkNs(std::span<const uint32_t> of_replica) const {
    int64_t work_ns = 0;
    uint64_t tokens = 0;
    for (const uint32_t request : of_replica) {
      tokens += requests_.lengths[request];
      work_ns += workload_.AttentionNs(requests_.lengths[request]);
    }
    return tokens == 0 ? 0 : work_ns + workload_.LinearNs(tokens);
  }

  // False where time runs over.
  bool Compute(const Batch& batch) {
    int64_t slowest_ns = 0;
    for (const std::vector<uint32_t>& replica : batch) {
      const int64_t work_ns = WorkNs(replica);
      slowest_ns = std::max(slowest_ns, work_ns);
      worked_ns_ += static_cast<double>(work_ns);
    }
    if (slowest_ns > kMostNs - now_ns_) return false;
    now_ns_ += slowest_ns;
    computing_ns_ += slowest_ns;
    for (const std::vector<uint32_t>& replica : batch) {
      for (const uint32_t request : replica) Finish(request);
    }
    ++figures_.batches;
    return true;
  }

  void Finish(uint32_t request) {
    const uint64_t delay = DelayOf(request);
    figures_.delay_max = std::max(figures_.delay_max, delay);
    if (max_delay_.has_value() && delay > *max_delay_) ++figures_.over_bound;
    figures_.tokens += requests_.lengths[request];
    const int64_t taken_ns = now_ns_ - requests_.arrivals_ns[request];
    ttft_.push_back(static_cast<double>(taken_ns) / kNsPerSecond);
  }

  PrefillFigures Figures() {
    PrefillFigures figures = figures_;
    std::sort(ttft_.begin(), ttft_.end());
    double sum = 0;
    for (const double seconds : ttft_) sum += seconds;
    figures.requests = ttft_.size();
    figures.ttft_mean = sum / static_cast<double>(ttft_.size());
    figures.ttft_p50 = Percentile(ttft_, 50);
    figures.ttft_p99 = Percentile(ttft_, 99);
    figures.ttft_max = ttft_.back();
    if (computing_ns_ > 0) {
      figures.idle_share =
          1 - worked_ns_ / (static_cast<double>(computing_ns_) * replicas_);
    }
    figures.seconds =
        static_cast<double>(now_ns_ - requests_.arrivals_ns.front()) / kNsPerSecond;
    if (figures.seconds > 0) {
      figures.tokens_per_second = static_cast<double>(figures.tokens) / figures.seconds;
    }
    return figures;
  }

  const PrefillRequests requests_;
  const uint32_t replicas_;
  const std::optional<uint64_t> max_delay_;
  const WorkloadTable& workload_;
  BatchFormer former_;
  WaitingRequests waiting_;
  // By request that has arrived: the number of the first batch that could have it.
  std::vector<uint64_t> first_batch_;
  std::vector<double> ttft_;
  int64_t now_ns_ = 0;
  int64_t computing_ns_ = 0;
  double worked_ns_ = 0;
  PrefillFigures figures_;
};

}  // namespace

absl::StatusOr<PrefillFigures> RunPrefill(const PrefillRequests& requests,
                                          Discipline discipline,
                                          const BatchLimits& limits,
                                          std::optional<uint64_t> max_delay,
                                          const WorkloadTable& workload) {
  return PrefillRun(requests, discipline, limits, max_delay, workload).Run();
}

std::optional<double> OfferedLoad(const PrefillRequests& requests, uint32_t replicas,
                                  const WorkloadTable& workload) {
  double work_ns = 0;
  for (const uint32_t length : requests.lengths) {
    work_ns += static_cast<double>(workload.AttentionNs(length)) +
               static_cast<double>(workload.LinearNs(length));
  }
  const auto span_ns =
      static_cast<double>(requests.arrivals_ns.back() - requests.arrivals_ns.front());
  if (span_ns <= 0) return std::nullopt;
  return work_ns / span_ns / replicas;
}

}  // namespace evenpack
