#include "server/control/job_recorder.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "server/core/engine/job_layout.h"
#include "server/core/sharding/rank_load.h"

namespace evenpack {
namespace {

constexpr double kNanosecond = 1e-9;

void AddTo(BalanceFigures& figures, const StepBalance& balance) {
  ++figures.steps;
  figures.max_workload_seconds +=
      static_cast<double>(balance.max_workload_ns) * kNanosecond;
  figures.mean_workload_seconds += static_cast<double>(balance.total_workload_ns) *
                                   kNanosecond /
                                   static_cast<double>(balance.micro_batches);
  figures.imbalance.Observe(balance.ImbalanceDegree());
}

// Most loaded rank over the mean; 1 where there is nothing to do.
double ContextParallelImbalance(const std::vector<RankLoad>& loads) {
  double most = 0;
  double total = 0;
  for (const RankLoad& load : loads) {
    const auto pairs = static_cast<double>(load.attended_pairs);
    most = std::max(most, pairs);
    total += pairs;
  }
  return total > 0 ? most * static_cast<double>(loads.size()) / total : 1;
}

// The place of a sharding in JobFigures::shardings.
size_t ShardingIndex(Sharding sharding) {
  switch (sharding) {
    case Sharding::kPerSequence:
      return 0;
    case Sharding::kContiguous:
      return 2;
    case Sharding::kHybrid:
      return 3;
    default:
      return 1;
  }
}

}  // namespace

JobRecorder::JobRecorder(const std::string& job, ForecastTermsOf terms)
    : forecast_(std::move(terms)) {
  figures_.job = job;
}

void JobRecorder::Reshape(std::shared_ptr<const JobSpec> spec, uint64_t next_step) {
  AddQueued();
  MutexLock lock(mutex_);
  SetShape(std::move(spec));
  history_.Withdraw(next_step);
}

void JobRecorder::SetShape(std::shared_ptr<const JobSpec> spec) {
  spec_ = std::move(spec);
  figures_.streams.resize(spec_->streams.size());
  shadow_.emplace(spec_->micro_batches, spec_->window, LongestDocument(*spec_),
                  spec_->workload);
}

void JobRecorder::Queue(JobChange change, double commit_seconds) {
  MutexLock lock(queue_mutex_);
  queue_.push_back({std::move(change), commit_seconds});
}

void JobRecorder::AddQueued() {
  // Held from here on, so that another thread's do not come before these.
  MutexLock lock(mutex_);
  std::vector<Queued> queued;
  {
    MutexLock queue_lock(queue_mutex_);
    queued.swap(queue_);
  }
  for (const Queued& change : queued) Add(change);
}

void JobRecorder::Add(const Queued& queued) {
  const JobChange& change = queued.change;
  if (change.reshape.has_value()) {
    SetShape(change.reshape->spec);
    // A restored job's earlier steps need not be those that it had.
    history_.Withdraw(change.restored.has_value() ? 0 : change.reshape->from_step);
  }
  if (change.recosted != nullptr) {
    spec_ = change.recosted;
    shadow_->SetWorkload(spec_->workload);
  }
  figures_.commit_seconds.Observe(queued.commit_seconds);
  if (change.accepted.has_value()) {
    StreamFigures& stream = figures_.streams[change.accepted->stream];
    stream.documents_accepted += change.accepted->documents;
    stream.tokens_accepted += change.accepted->tokens;
  }
  for (const NewStep& step : change.steps) AddStep(step);
}

void JobRecorder::AddStep(const NewStep& step) {
  ++figures_.steps[static_cast<size_t>(step.step->step.kind)];
  figures_.decide_seconds.Observe(step.decide_seconds);
  AddDocuments(step);
  AddBalance(step);
  if (forecasts_.size() < kMostForecasts) forecasts_.push_back(step.step);
}

void JobRecorder::AddDocuments(const NewStep& step) {
  const PublishedStep& published = *step.step;
  const bool sharded = published.spec->context_parallel > 1;
  for (size_t i = 0; i < published.step.micro_batches.size(); ++i) {
    const MicroBatch& micro_batch = published.step.micro_batches[i];
    if (micro_batch.documents.empty()) continue;
    figures_.padding_emitted += micro_batch.padding;
    ++figures_.shardings[ShardingIndex(micro_batch.sharding)];
    if (sharded) {
      figures_.context_parallel_imbalance.Observe(
          ContextParallelImbalance(published.rank_loads[i]));
    }
    AddDelays(micro_batch.documents, step.batches_admitted - 1);
  }
}

void JobRecorder::AddDelays(std::span<const Document> documents, uint64_t batch) {
  // Most wait as long as the one before.
  for (auto next = documents.begin(); next != documents.end();) {
    const uint64_t admitted = next->batch;
    uint64_t ended = 0;
    for (; next != documents.end() && next->batch == admitted; ++next) {
      if (EndsDocument(*next)) ++ended;
    }
    if (ended == 0) continue;
    figures_.documents_emitted += ended;
    figures_.document_delay.Observe(static_cast<double>(batch - admitted), ended);
  }
}

void JobRecorder::AddBalance(const NewStep& step) {
  const JobSpec& spec = *step.step->spec;
  const StepBalance balance =
      MeasureBalance(step.step->step, spec.workload, spec.window);
  figures_.tokens_emitted += balance.tokens;
  figures_.long_document_tokens_emitted += balance.long_document_tokens;
  if (step.step->step.kind == StepKind::kFullBatch) {
    AddFull(spec, balance);
    full_steps_.Add(balance.tokens);
  }
  AddToHistory(step, balance);
}

void JobRecorder::AddToHistory(const NewStep& step, const StepBalance& balance) {
  const Step& decided = step.step->step;
  StepObservation observed;
  observed.index = decided.index;
  observed.epoch = decided.epoch;
  observed.previous_digest = step.step->previous;
  observed.kind = decided.kind;
  observed.decided = step.step->decided;
  observed.sizes = SizesOf(decided.micro_batches);
  observed.imbalance = balance.ImbalanceDegree();
  observed.long_document_tokens = balance.long_document_tokens;
  for (const MicroBatch& micro_batch : decided.micro_batches) {
    observed.documents += static_cast<uint64_t>(std::count_if(
        micro_batch.documents.begin(), micro_batch.documents.end(), EndsDocument));
  }
  observed.waiting = step.waiting;
  for (const StepBalance& original :
       shadow_->Add(step.admitted, &observed.original_sizes)) {
    AddTo(figures_.original, original);
    observed.original_imbalance = original.ImbalanceDegree();
  }
  history_.Add(std::move(observed));
}

bool JobRecorder::AreForecastsDue() {
  MutexLock lock(mutex_);
  const bool due = !forecasts_asked_for_ && forecasts_.size() >= kForecastsDue;
  forecasts_asked_for_ |= due;
  return due;
}

void JobRecorder::AddForecasts() {
  MutexLock forecast_lock(forecast_mutex_);
  std::vector<std::shared_ptr<const PublishedStep>> steps;
  std::shared_ptr<const JobSpec> spec;
  {
    MutexLock lock(mutex_);
    steps.swap(forecasts_);
    forecasts_asked_for_ = false;
    spec = spec_;
  }
  for (const auto& step : steps) {
    const std::optional<StepPrediction> prediction = forecast_.Predict(*step);
    if (!prediction.has_value()) continue;
    MutexLock lock(mutex_);
    AddForecast(*prediction);
  }
  // Before the first step, so that its figures are a rise from 0.
  const bool possible = spec != nullptr && forecast_.CanPredict(spec);
  MutexLock lock(mutex_);
  figures_.prediction.possible = possible;
}

void JobRecorder::AddForecast(const StepPrediction& prediction) {
  // What comes out below zero by a little would let a counter fall.
  const auto seconds = [](int64_t ns) {
    return static_cast<double>(std::max<int64_t>(ns, 0)) * kNanosecond;
  };
  PredictionFigures& figures = figures_.prediction;
  ++figures.steps;
  figures.step_seconds += seconds(prediction.step_ns);
  figures.even_seconds += seconds(prediction.bound_ns);
  figures.seconds[0] += seconds(prediction.packing_ns);
  figures.seconds[1] += seconds(prediction.cp_sharding_ns);
  figures.seconds[2] += seconds(prediction.pipeline_ns);
  figures.seconds[3] += seconds(prediction.communication_ns);
}

void JobRecorder::AddFull(const JobSpec& spec, const StepBalance& balance) {
  AddTo(figures_.policy, balance);
  const double fill = static_cast<double>(balance.tokens) /
                      static_cast<double>(GlobalBatchTokens(spec));
  figures_.step_fill.Observe(fill);
  figures_.step_fill_squares += fill * fill;
  figures_.long_document_share.Observe(balance.LongDocumentShare());
}

void JobRecorder::Add(const LatencyReport& report,
                      std::span<const CostCalibration::Measured> first) {
  MutexLock lock(mutex_);
  figures_.step_wait_seconds += report.step_wait_seconds;
  figures_.steps_taken += report.steps_taken;
  for (const auto& [step, micro_batch, measured_ns] : first) {
    const int64_t predicted_ns = step->step.micro_batches[micro_batch].workload_ns;
    if (predicted_ns == 0) continue;
    figures_.measured_over_predicted.Observe(static_cast<double>(measured_ns) /
                                             static_cast<double>(predicted_ns));
  }
}

void JobRecorder::CountDelivery(double seconds) {
  MutexLock lock(delivery_mutex_);
  delivery_seconds_.Observe(seconds);
}

RecordedSteps JobRecorder::Steps(const ObservationRange& range) {
  AddQueued();
  MutexLock lock(mutex_);
  return {history_.Last(range.steps, range.from_step), full_steps_};
}

JobFigures JobRecorder::Figures() {
  AddQueued();
  AddForecasts();
  JobFigures figures = [this] {
    MutexLock lock(mutex_);
    return figures_;
  }();
  MutexLock lock(delivery_mutex_);
  figures.delivery_seconds = delivery_seconds_;
  return figures;
}

}  // namespace evenpack
