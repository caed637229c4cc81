// The attention that ranks measured of the last steps: gathered until all ranks of a
// step have reported, and split then into why the step took so long.
#ifndef EVENPACK_SERVER_CONTROL_LATENCY_WINDOW_H_
#define EVENPACK_SERVER_CONTROL_LATENCY_WINDOW_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "server/control/job_status.h"
#include "server/core/balance/step_excess.h"
#include "server/metrics/job_figures.h"
#include "server/runtime/mutex.h"
#include "server/sessions/published_step.h"

namespace evenpack {

// One rank's share of a step: of one layer, summed over its micro-batches. Nanoseconds.
struct RankLatency {
  int64_t predicted_forward_ns = 0;
  int64_t forward_ns = 0;
  int64_t backward_ns = 0;
  int64_t waited_ns = 0;
};

struct StepLatency {
  uint64_t step = 0;
  uint32_t context_parallel = 1;
  // By dp_rank, then cp_rank.
  std::vector<RankLatency> ranks;
  uint64_t ranks_reported = 0;
  // Once all have, if the job's kernel latencies predict anything.
  std::optional<StepExcess> excess;
};

// Thread-safe.
class LatencyWindow {
 public:
  // At most so many steps are gathered at a time, the last ones of which a rank
  // reported or that were let go; fewer where a step has more than 2^14 micro-batches
  // and ranks of them.
  static constexpr size_t kMaxSteps = 64;

  // `micro_batch` is one of the rank's in the step, both ranks are of its shape.
  // Nothing where it was reported before, has no tokens, the step lies before the
  // window, or one of a later epoch took its place.
  void Add(const PublishedStep& step, uint32_t dp_rank, uint32_t cp_rank,
           uint32_t micro_batch, const MeasuredAttention& measured);
  // Ranks have come that report. Without any, predictions of steps that are let go
  // would be made for nobody.
  void ExpectReports();
  // Of the last of these steps, in order, only what reports that come later need is
  // kept, where any are expected.
  void LetGo(std::span<const std::shared_ptr<const PublishedStep>> steps);
  // As Add, of a step that was let go. Nothing where no more is known of it, or it had
  // no such rank or micro-batch. Reports are expected from now on.
  void AddLate(uint64_t step, uint32_t dp_rank, uint32_t cp_rank, uint32_t micro_batch,
               const MeasuredAttention& measured);
  // Steps from this one on were withdrawn.
  void Withdraw(uint64_t from_step);

  // The last `most` of which a rank has reported, in order.
  std::vector<StepLatency> Steps(size_t most) const;
  // `now`: the job's spec, null where it has none. Late ranks are told of steps with as
  // many DP and CP ranks: one of another shape need not be there any more.
  void AddTo(const JobSpec* now, JobFigures& figures) const;

 private:
  struct Gathered {
    uint64_t epoch = 0;
    StepLatency latency;
    // By micro-batch, then CP rank. Those without tokens need no report.
    std::vector<bool> reported;
    // By rank: micro-batches that it has not reported.
    std::vector<uint32_t> missing;
    // Whether any micro-batch was.
    bool has_reports = false;

    uint32_t micro_batches() const {
      return static_cast<uint32_t>(reported.size() / latency.context_parallel);
    }
    uint32_t data_parallel() const {
      return static_cast<uint32_t>(missing.size() / latency.context_parallel);
    }
  };

  static Gathered Begin(const PublishedStep& step);
  // Null where nothing of the step is gathered any more.
  Gathered* Find(const PublishedStep& step) EVENPACK_REQUIRES(mutex_);
  // One that the step has.
  void Count(Gathered& gathered, uint32_t dp_rank, uint32_t cp_rank,
             uint32_t micro_batch, const MeasuredAttention& measured)
      EVENPACK_REQUIRES(mutex_);
  void Finish(StepLatency& latency) EVENPACK_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<uint64_t, Gathered> steps_ EVENPACK_GUARDED_BY(mutex_);
  // Steps before it are not gathered any more.
  uint64_t first_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool expects_reports_ EVENPACK_GUARDED_BY(mutex_) = false;
  ExcessFigures excess_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_LATENCY_WINDOW_H_
