// Counts what happens to a job, for its figures.
#ifndef EVENPACK_SERVER_CONTROL_JOB_RECORDER_H_
#define EVENPACK_SERVER_CONTROL_JOB_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/control/cost_calibration.h"
#include "server/control/job_change.h"
#include "server/control/job_observation.h"
#include "server/control/job_status.h"
#include "server/control/step_forecast.h"
#include "server/control/step_history.h"
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

  // The job's shape from here on. Steps from `next_step` on that were added before are
  // no longer true.
  void Reshape(std::shared_ptr<const JobSpec> spec, uint64_t next_step);
  // A committed change. It is counted by the next AddQueued() or Figures(): what that
  // takes should not come between a commit and those who wait for it.
  void Queue(JobChange change, double commit_seconds);
  void AddQueued();
  // Whether so many steps wait for AddForecasts() to predict their time that it should,
  // on a thread that can spare some milliseconds; once, until it does. Figures()
  // predicts those that wait.
  bool AreForecastsDue();
  void AddForecasts();
  // `first`: what no report told before of the report's micro-batches.
  void Add(const LatencyReport& report,
           std::span<const CostCalibration::Measured> first);
  void CountDelivery(double seconds);

  // All but what is "now".
  JobFigures Figures();
  // The last steps that were committed, none of which was withdrawn.
  RecordedSteps Steps(const ObservationRange& range);

 private:
  struct Queued {
    JobChange change;
    double commit_seconds = 0;
  };

  void SetShape(std::shared_ptr<const JobSpec> spec) EVENPACK_REQUIRES(mutex_);
  void Add(const Queued& queued) EVENPACK_REQUIRES(mutex_);
  void AddStep(const NewStep& step) EVENPACK_REQUIRES(mutex_);
  void AddDocuments(const NewStep& step) EVENPACK_REQUIRES(mutex_);
  // Of documents that leave with global batch `batch`.
  void AddDelays(std::span<const Document> documents, uint64_t batch)
      EVENPACK_REQUIRES(mutex_);
  void AddBalance(const NewStep& step) EVENPACK_REQUIRES(mutex_);
  void AddForecast(const StepPrediction& prediction) EVENPACK_REQUIRES(mutex_);
  void AddFull(const JobSpec& spec, const StepBalance& balance)
      EVENPACK_REQUIRES(mutex_);
  void AddToHistory(const NewStep& step, const StepBalance& balance)
      EVENPACK_REQUIRES(mutex_);

  Mutex queue_mutex_;
  std::vector<Queued> queue_ EVENPACK_GUARDED_BY(queue_mutex_);

  // Steps that wait for their prediction: due, and how many there may be at most;
  // further ones go without.
  static constexpr size_t kForecastsDue = 8;
  static constexpr size_t kMostForecasts = 32;
  // Held while steps are predicted; taken before the others, or alone.
  Mutex forecast_mutex_;
  StepForecast forecast_ EVENPACK_GUARDED_BY(forecast_mutex_);

  // Taken before queue_mutex_, or alone.
  Mutex mutex_;
  JobFigures figures_ EVENPACK_GUARDED_BY(mutex_);
  // Of steps to come; null before there is a shape.
  std::shared_ptr<const JobSpec> spec_ EVENPACK_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<const PublishedStep>> forecasts_
      EVENPACK_GUARDED_BY(mutex_);
  bool forecasts_asked_for_ EVENPACK_GUARDED_BY(mutex_) = false;
  // What `original` makes of the same documents, in the present epoch.
  std::optional<OriginalShadow> shadow_ EVENPACK_GUARDED_BY(mutex_);
  StepHistory history_ EVENPACK_GUARDED_BY(mutex_);
  StepTokenSums full_steps_ EVENPACK_GUARDED_BY(mutex_);

  // Those who deliver steps don't wait for what is added up meanwhile. Taken alone.
  Mutex delivery_mutex_;
  Histogram delivery_seconds_ EVENPACK_GUARDED_BY(delivery_mutex_){kLatencyBounds};
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_JOB_RECORDER_H_
