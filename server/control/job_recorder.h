// Counts what happens to a job, for its figures.
#ifndef EVENPACK_SERVER_CONTROL_JOB_RECORDER_H_
#define EVENPACK_SERVER_CONTROL_JOB_RECORDER_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/control/job_change.h"
#include "server/control/job_status.h"
#include "server/control/step_forecast.h"
#include "server/core/balance/original_shadow.h"
#include "server/core/balance/step_balance.h"
#include "server/metrics/job_figures.h"
#include "server/runtime/mutex.h"

namespace evenpack {

// Thread-safe, with locks of its own.
class JobRecorder {
 public:
  // `terms`: as StepForecast has them.
  explicit JobRecorder(const std::string& job, ForecastTermsOf terms = nullptr);

  // The job's shape from here on. Before anything is added.
  void Reshape(const JobSpec& spec);
  // A committed change. It is counted by the next AddQueued() or Figures(): what that
  // takes should not come between a commit and those who wait for it.
  void Queue(JobChange change, double commit_seconds);
  void AddQueued();
  // `predicted_ns`: one for each of the report's micro-batches.
  void Add(const LatencyReport& report, std::span<const int64_t> predicted_ns);
  void CountDelivery(double seconds);

  // All but what is "now".
  JobFigures Figures();

 private:
  struct Queued {
    JobChange change;
    double commit_seconds = 0;
  };

  void SetShape(const JobSpec& spec) EVENPACK_REQUIRES(mutex_);
  void Add(const Queued& queued) EVENPACK_REQUIRES(mutex_);
  void AddStep(const NewStep& step) EVENPACK_REQUIRES(mutex_);
  void AddDocuments(const NewStep& step) EVENPACK_REQUIRES(mutex_);
  void AddBalance(const NewStep& step) EVENPACK_REQUIRES(mutex_);
  void AddForecast(const PublishedStep& step) EVENPACK_REQUIRES(mutex_);
  void AddFull(const JobSpec& spec, const StepBalance& balance)
      EVENPACK_REQUIRES(mutex_);

  Mutex queue_mutex_;
  std::vector<Queued> queue_ EVENPACK_GUARDED_BY(queue_mutex_);

  // Taken before the other, or alone.
  Mutex mutex_;
  JobFigures figures_ EVENPACK_GUARDED_BY(mutex_);
  StepForecast forecast_ EVENPACK_GUARDED_BY(mutex_);
  // What `original` makes of the same documents, in the present epoch.
  std::optional<OriginalShadow> shadow_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_JOB_RECORDER_H_
