// Counts what happens to a job, for its figures.
#ifndef EVENPACK_SERVER_CONTROL_JOB_RECORDER_H_
#define EVENPACK_SERVER_CONTROL_JOB_RECORDER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "server/control/job_change.h"
#include "server/control/job_status.h"
#include "server/core/balance/original_shadow.h"
#include "server/metrics/job_figures.h"
#include "server/runtime/mutex.h"

namespace evenpack {

// Thread-safe, with a lock of its own.
class JobRecorder {
 public:
  explicit JobRecorder(const std::string& job);

  // The job's shape from here on. Before anything is added.
  void Reshape(const JobSpec& spec);
  // A committed change.
  void Add(const JobChange& change, double commit_seconds);
  // `predicted_ns`: one for each of the report's micro-batches.
  void Add(const LatencyReport& report, std::span<const int64_t> predicted_ns);
  void CountDelivery(double seconds);

  // All but what is "now".
  JobFigures Figures() const;

 private:
  void AddStep(const NewStep& step) EVENPACK_REQUIRES(mutex_);
  void AddDocuments(const NewStep& step) EVENPACK_REQUIRES(mutex_);
  void AddBalance(const NewStep& step) EVENPACK_REQUIRES(mutex_);

  mutable Mutex mutex_;
  JobFigures figures_ EVENPACK_GUARDED_BY(mutex_);
  // What `original` makes of the same documents, in the present epoch.
  std::optional<OriginalShadow> shadow_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_JOB_RECORDER_H_
