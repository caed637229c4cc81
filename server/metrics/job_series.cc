#include "server/metrics/job_series.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/metrics/metric_names.h"

namespace evenpack {
namespace {

// Of one stream, or of the sum of several.
struct StreamSeries {
  std::string_view name;
  StreamFigures sum;
  uint64_t full = 0;
  uint64_t ended = 0;

  void Add(const StreamFigures& stream) {
    sum.documents_accepted += stream.documents_accepted;
    sum.tokens_accepted += stream.tokens_accepted;
    sum.buffered_documents += stream.buffered_documents;
    sum.buffered_tokens += stream.buffered_tokens;
    sum.buffered_bytes += stream.buffered_bytes;
    full += stream.full ? 1 : 0;
    ended += stream.ended ? 1 : 0;
  }
};

void AddStream(std::string_view job, const StreamSeries& stream,
               MetricFamilies& families) {
  const StreamFigures& sum = stream.sum;
  const auto add = [&](Metric metric, uint64_t count) {
    families.AddCount(metric, {job, stream.name}, count);
  };
  add(Metric::kDocumentsAccepted, sum.documents_accepted);
  add(Metric::kTokensAccepted, sum.tokens_accepted);
  add(Metric::kBufferedDocuments, sum.buffered_documents);
  add(Metric::kBufferedTokens, sum.buffered_tokens);
  add(Metric::kBufferedBytes, sum.buffered_bytes);
  add(Metric::kStreamFull, stream.full);
  add(Metric::kStreamEnded, stream.ended);
}

void AddStreams(const JobFigures& job, MetricFamilies& families) {
  const bool summed = job.streams.size() > kMaxStreamsShown;
  StreamSeries other{kOther, {}};
  for (size_t i = 0; i < job.streams.size(); ++i) {
    const StreamFigures& stream = job.streams[i];
    // A user's stream of that name is part of the sum: two series may not be alike.
    if (i >= kMaxStreamsShown || (summed && stream.name == kOther)) {
      other.Add(stream);
      continue;
    }
    StreamSeries series{stream.name, {}};
    series.Add(stream);
    AddStream(job.job, series, families);
  }
  if (summed) AddStream(job.job, other, families);
}

void AddQueue(std::string_view job, std::string_view name, const QueueFigures& queue,
              MetricFamilies& families) {
  families.AddCount(Metric::kQueueDocuments, {job, name}, queue.documents);
  families.AddCount(Metric::kQueueTokens, {job, name}, queue.tokens);
  families.AddCount(Metric::kQueueOldest, {job, name}, queue.oldest_batches);
}

void AddQueues(const JobFigures& job, MetricFamilies& families) {
  QueueFigures other;
  for (size_t level = 0; level < job.queues.size(); ++level) {
    const QueueFigures& queue = job.queues[level];
    if (level < kMaxQueuesShown) {
      AddQueue(job.job, std::to_string(level), queue, families);
      continue;
    }
    other.documents += queue.documents;
    other.tokens += queue.tokens;
    other.oldest_batches = std::max(other.oldest_batches, queue.oldest_batches);
  }
  if (job.queues.size() > kMaxQueuesShown) {
    AddQueue(job.job, kOther, other, families);
  }
}

void AddBalance(std::string_view job, std::string_view packing,
                const BalanceFigures& balance, MetricFamilies& families) {
  families.AddValue(Metric::kStepMaxWorkload, {job, packing},
                    balance.max_workload_seconds);
  families.AddValue(Metric::kStepMeanWorkload, {job, packing},
                    balance.mean_workload_seconds);
  families.AddHistogram(Metric::kStepImbalance, {job, packing}, balance.imbalance);
}

void AddSteps(const JobFigures& job, MetricFamilies& families) {
  for (size_t i = 0; i < job.steps.size(); ++i) {
    families.AddCount(Metric::kSteps, {job.job, kKindNames[i]}, job.steps[i]);
  }
  for (size_t i = 0; i < job.shardings.size(); ++i) {
    families.AddCount(Metric::kMicroBatches, {job.job, kShardingNames[i]},
                      job.shardings[i]);
  }
  AddBalance(job.job, kPackingJob, job.policy, families);
  AddBalance(job.job, kPackingOriginal, job.original, families);
}

void AddPrediction(const JobFigures& job, MetricFamilies& families) {
  const PredictionFigures& prediction = job.prediction;
  if (!prediction.possible && prediction.steps == 0) return;
  families.AddCount(Metric::kPredictedSteps, {job.job}, prediction.steps);
  families.AddValue(Metric::kPredictedStep, {job.job}, prediction.step_seconds);
  families.AddValue(Metric::kPredictedEvenStep, {job.job}, prediction.even_seconds);
  for (size_t i = 0; i < prediction.seconds.size(); ++i) {
    families.AddValue(Metric::kPredictedExcess, {job.job, kPredictedCauseNames[i]},
                      prediction.seconds[i]);
  }
}

void AddLateRanks(const JobFigures& job, MetricFamilies& families) {
  families.AddCount(Metric::kLateWindowSteps, {job.job}, job.excess.window_steps);
  for (const LateRankFigures& rank : job.excess.late_ranks) {
    const std::string dp_rank = std::to_string(rank.dp_rank);
    const std::string cp_rank = std::to_string(rank.cp_rank);
    families.AddCount(Metric::kLateRankSteps, {job.job, dp_rank, cp_rank}, rank.steps);
    families.AddValue(Metric::kLateRankSeconds, {job.job, dp_rank, cp_rank},
                      rank.mean_seconds);
  }
}

void AddExcess(const JobFigures& job, MetricFamilies& families) {
  const ExcessFigures& excess = job.excess;
  for (size_t i = 0; i < excess.seconds.size(); ++i) {
    families.AddValue(Metric::kExcess, {job.job, kCauseNames[i]}, excess.seconds[i]);
  }
  families.AddValue(Metric::kEvenSeconds, {job.job}, excess.even_seconds);
  families.AddCount(Metric::kMeasuredSteps, {job.job}, excess.steps);
  families.AddHistogram(Metric::kAttentionOverPredicted, {job.job},
                        excess.attention_over_predicted);
}

void AddCalibration(const JobFigures& job, MetricFamilies& families) {
  const CalibrationFigures& calibration = job.calibration;
  const auto add = [&](std::string_view scale, const ScaleFigures& figures) {
    families.AddValue(Metric::kCostAttentionScale, {job.job, scale}, figures.attention);
    families.AddValue(Metric::kCostLinearScale, {job.job, scale}, figures.linear);
  };
  add(kScaleApplied, calibration.applied);
  if (calibration.measured.has_value()) add(kScaleMeasured, *calibration.measured);
  add(kScaleSuggested, calibration.suggested);
  families.AddCount(Metric::kCostObservations, {job.job}, calibration.observations);
  families.AddCount(Metric::kCostSeparable, {job.job}, calibration.separable ? 1 : 0);
  families.AddCount(Metric::kCostCalibrations, {job.job}, calibration.calibrations);
}

struct CountOfJob {
  Metric metric;
  uint64_t JobFigures::*count;
};
constexpr CountOfJob kCounts[] = {
    {Metric::kDocumentsEmitted, &JobFigures::documents_emitted},
    {Metric::kTokensEmitted, &JobFigures::tokens_emitted},
    {Metric::kPaddingEmitted, &JobFigures::padding_emitted},
    {Metric::kLongDocumentTokensEmitted, &JobFigures::long_document_tokens_emitted},
    {Metric::kLeftOverDocuments, &JobFigures::left_over_documents},
    {Metric::kLeftOverTokens, &JobFigures::left_over_tokens},
    {Metric::kLeftOverOldest, &JobFigures::left_over_oldest_batches},
    {Metric::kEpoch, &JobFigures::epoch},
    {Metric::kNextStep, &JobFigures::next_step},
    {Metric::kDurableSteps, &JobFigures::durable_steps},
    {Metric::kKeptSteps, &JobFigures::kept_steps},
    {Metric::kReadySteps, &JobFigures::ready_steps},
    {Metric::kPayloadBytes, &JobFigures::payload_bytes},
    {Metric::kSubscribers, &JobFigures::subscribers},
    {Metric::kMaxLag, &JobFigures::max_lag_steps},
    {Metric::kMinLag, &JobFigures::min_lag_steps},
    {Metric::kTotalLag, &JobFigures::total_lag_steps},
    {Metric::kUnusedCredits, &JobFigures::unused_credits},
    {Metric::kProducers, &JobFigures::producers},
    {Metric::kGroupMembers, &JobFigures::group_members},
    {Metric::kGroups, &JobFigures::groups},
    {Metric::kGroupsStanding, &JobFigures::groups_standing},
    {Metric::kStepsTaken, &JobFigures::steps_taken},
};

struct HistogramOfJob {
  Metric metric;
  Histogram JobFigures::*histogram;
};
constexpr HistogramOfJob kHistograms[] = {
    {Metric::kStepFill, &JobFigures::step_fill},
    {Metric::kStepLongDocumentShare, &JobFigures::long_document_share},
    {Metric::kDocumentDelay, &JobFigures::document_delay},
    {Metric::kContextParallelImbalance, &JobFigures::context_parallel_imbalance},
    {Metric::kDecideSeconds, &JobFigures::decide_seconds},
    {Metric::kCommitSeconds, &JobFigures::commit_seconds},
    {Metric::kDeliverySeconds, &JobFigures::delivery_seconds},
    {Metric::kMeasuredOverPredicted, &JobFigures::measured_over_predicted},
};

}  // namespace

void AddJobSeries(const JobFigures& job, MetricFamilies& families) {
  AddStreams(job, families);
  AddQueues(job, families);
  AddSteps(job, families);
  AddPrediction(job, families);
  AddExcess(job, families);
  AddLateRanks(job, families);
  AddCalibration(job, families);
  for (const CountOfJob& entry : kCounts) {
    families.AddCount(entry.metric, {job.job}, job.*entry.count);
  }
  families.AddValue(Metric::kStepWait, {job.job}, job.step_wait_seconds);
  families.AddValue(Metric::kStepFillSquares, {job.job}, job.step_fill_squares);
  for (const HistogramOfJob& entry : kHistograms) {
    families.AddHistogram(entry.metric, {job.job}, job.*entry.histogram);
  }
}

}  // namespace evenpack
