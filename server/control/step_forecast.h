// What a committed step is predicted to take on the whole cluster, and what of it lies
// beyond a perfectly even step (server/core/pipeline/step_prediction.h).
#ifndef EVENPACK_SERVER_CONTROL_STEP_FORECAST_H_
#define EVENPACK_SERVER_CONTROL_STEP_FORECAST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "server/core/cost/cost_scales.h"
#include "server/core/cost/model_spec.h"
#include "server/core/engine/job_spec.h"
#include "server/core/pipeline/micro_batch_cost.h"
#include "server/core/pipeline/step_prediction.h"
#include "server/sessions/published_step.h"

namespace evenpack {

// What a spec says of the run, in bytes that the engine does not read
// (JobSpec::description).
struct ForecastTerms {
  ModelSpec model;
  // Dense bf16 FLOP/s of one GPU.
  double peak_flops = 0;
  // By which attention, and other computing, are multiplied.
  CostScales scales;
};
// None: the spec names no model. Thread-safe.
using ForecastTermsOf = std::function<std::optional<ForecastTerms>(const JobSpec&)>;

// Not thread-safe.
class StepForecast {
 public:
  // What predicting one step may take on average, in slices of attention and passes of
  // a pipeline: some tenths of a millisecond. Of larger steps every second one, or
  // third and so on, is predicted.
  static constexpr uint64_t kMostOperations = uint64_t{1} << 15;

  // `terms` may be null: no step is predicted.
  explicit StepForecast(ForecastTermsOf terms) : terms_of_(std::move(terms)) {}

  // The job's parallelism, the model and the GPU of its spec, attention by its kernel
  // latencies; all else as ClusterSpec has it by default. None where the spec names no
  // model, where the model can't be spread so (Validate(ClusterSpec), PipelineShape),
  // or where it is not this large step's turn.
  std::optional<StepPrediction> Predict(const PublishedStep& step);
  // Whether steps of this spec, which is not null, are predicted.
  bool CanPredict(const std::shared_ptr<const JobSpec>& spec);

 private:
  void Read(const std::shared_ptr<const JobSpec>& spec);

  const ForecastTermsOf terms_of_;
  // That the members below were read from: reading a description takes its time.
  std::shared_ptr<const JobSpec> spec_;
  std::optional<ClusterCosts> costs_;
  CostScales scales_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_STEP_FORECAST_H_
