#include "server/service/observation_conversion.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "evenpack/v1/observation.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/core/sharding/shard_plan.h"
#include "server/service/job_conversion.h"
#include "server/service/step_conversion.h"

namespace evenpack {
namespace {

template <typename From, typename To>
void AddAll(const std::vector<From>& from, google::protobuf::RepeatedField<To>& to) {
  to.Add(from.begin(), from.end());
}

void AddStep(const StepObservation& from, Clock::TimePoint now, v1::ObservedStep& to) {
  to.set_index(from.index);
  to.set_epoch(from.epoch);
  to.set_kind(ToProto(from.kind));
  to.set_age_seconds(SecondsBetween(from.decided, now));
  AddAll(from.sizes.workload_ns, *to.mutable_workload_ns());
  AddAll(from.sizes.tokens, *to.mutable_tokens());
  AddAll(from.sizes.padding, *to.mutable_padding());
  AddAll(from.original_sizes.workload_ns, *to.mutable_original_workload_ns());
  AddAll(from.original_sizes.tokens, *to.mutable_original_tokens());
  to.set_imbalance(from.imbalance);
  to.set_original_imbalance(from.original_imbalance);
  to.set_long_document_tokens(from.long_document_tokens);
  to.set_documents(from.documents);
  for (const WaitingCounts::Queue& queue : from.waiting.queues) {
    to.add_queue_documents(queue.documents);
    to.add_queue_tokens(queue.tokens);
  }
  to.set_left_over_documents(from.waiting.left_over.documents);
  to.set_left_over_tokens(from.waiting.left_over.tokens);
  to.set_previous_digest(DigestBytes(from.previous_digest));
}

// The imbalance that the wall clock sees.
double Weighted(const BalanceFigures& figures) {
  if (figures.mean_workload_seconds == 0) return 0;
  return figures.max_workload_seconds / figures.mean_workload_seconds;
}

void AddTotals(const JobObservation& from, v1::ObservedTotals& to) {
  const JobFigures& figures = from.figures;
  to.set_full_steps(figures.policy.steps);
  to.set_original_full_steps(figures.original.steps);
  to.set_weighted_imbalance(Weighted(figures.policy));
  to.set_original_weighted_imbalance(Weighted(figures.original));
  to.set_documents(figures.documents_emitted);
  to.set_tokens(figures.tokens_emitted);
  to.set_mean_step_tokens(from.recorded.full_steps.Mean());
  to.set_step_tokens_cv(from.recorded.full_steps.Variation());
  const Histogram& delays = figures.document_delay;
  for (const double bound : delays.bounds()) to.add_delay_bounds(bound);
  for (size_t i = 0; i <= delays.bounds().size(); ++i) {
    to.add_delay_documents(delays.count_in(i));
  }
  to.set_step_wait_seconds(figures.step_wait_seconds);
  to.set_steps_taken(figures.steps_taken);
}

void AddQueues(const JobObservation& from, v1::ObserveJobResponse& to) {
  const std::vector<uint32_t>& thresholds = from.status.spec->policy.queue_thresholds;
  const std::vector<QueueFigures>& queues = from.figures.queues;
  // They are of two moments, between which the job may get others.
  for (size_t i = 0; i < std::min(queues.size(), thresholds.size()); ++i) {
    v1::ObservedQueue& queue = *to.add_queues();
    queue.set_threshold(thresholds[i]);
    queue.set_documents(queues[i].documents);
    queue.set_tokens(queues[i].tokens);
    queue.set_oldest_batches(queues[i].oldest_batches);
  }
}

void AddSubscriber(const SubscriberStatus& from, v1::ObservedSubscriber& to) {
  to.set_dp_rank(from.dp_rank);
  if (from.cp_rank.has_value()) to.set_cp_rank(*from.cp_rank);
  to.set_subscriber(from.subscriber);
  to.set_sends_durable(from.sends_durable);
  to.set_next_step(from.next_step);
  to.set_received_steps(from.received_steps);
  to.set_lag_steps(from.lag_steps);
  to.set_unused_credits(from.unused_credits);
}

}  // namespace

void ToProto(const JobObservation& observed, v1::ObserveJobResponse& to) {
  ToProto(observed.status, *to.mutable_job());
  for (const auto& step : observed.recorded.steps) {
    AddStep(*step, observed.now, *to.add_steps());
  }
  AddTotals(observed, *to.mutable_totals());
  AddQueues(observed, to);
  for (const SubscriberStatus& subscriber : observed.subscribers) {
    AddSubscriber(subscriber, *to.add_subscribers());
  }
  to.set_producers(observed.figures.producers);
}

void ToProto(const PublishedStep& step, uint32_t micro_batch,
             v1::ObserveMicroBatchResponse& to) {
  ToProto(step, micro_batch, *to.mutable_micro_batch());
  const ShardPlan& plan = step.plans[micro_batch];
  RankSlices slices;
  for (uint32_t rank = 0; rank < plan.context_parallel; ++rank) {
    ExpandRankInto(plan, rank, slices);
    ToProto(rank, slices, *to.add_ranks());
    to.add_attended_pairs(step.rank_loads[micro_batch][rank].attended_pairs);
  }
}

}  // namespace evenpack
