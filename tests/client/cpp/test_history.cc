#include "tests/client/cpp/test_history.h"

#include <cstdlib>
#include <iostream>
#include <string>

#include "server/core/digest/digest_bytes.h"
#include "server/core/sharding/plan_digest.h"
#include "server/core/sharding/plan_sharding.h"

namespace evenpack::testing {
namespace {

constexpr uint32_t kDataParallel = 2;
constexpr uint32_t kMicroBatchesPerRank = 2;
constexpr uint32_t kContextParallel = 2;

template <typename Column, typename Values>
void Assign(const Values& values, Column* column) {
  column->Assign(values.begin(), values.end());
}

v1::Sharding ToMessage(Sharding sharding) {
  switch (sharding) {
    case Sharding::kPerDocument:
      return v1::SHARDING_PER_DOCUMENT;
    case Sharding::kContiguous:
      return v1::SHARDING_CONTIGUOUS;
    case Sharding::kHybrid:
      return v1::SHARDING_HYBRID;
    default:
      return v1::SHARDING_PER_SEQUENCE;
  }
}

v1::ShardPlan ToMessage(const ShardPlan& plan) {
  v1::ShardPlan message;
  message.set_sharding(ToMessage(plan.sharding));
  message.set_context_parallel(plan.context_parallel);
  message.set_pad_multiple(plan.pad_multiple);
  message.set_padded_tokens(plan.padded_tokens);
  Assign(plan.slot_starts, message.mutable_slot_starts());
  Assign(plan.slot_tokens, message.mutable_slot_tokens());
  Assign(plan.left_over, message.mutable_left_over());
  Assign(plan.cursor, message.mutable_cursor());
  for (const uint16_t owner : plan.owner) {
    message.add_owner(owner == kCutDocument ? 0 : owner + 1U);
  }
  for (const RankSlices& slices : ExpandAllRanks(plan)) {
    message.add_rank_tokens(slices.tokens);
    message.add_rank_padding(slices.padding);
  }
  message.set_digest(DigestBytes(PlanDigest(plan)));
  return message;
}

v1::RankSlices ToMessage(const RankSlices& slices, uint32_t cp_rank) {
  v1::RankSlices message;
  message.set_cp_rank(cp_rank);
  Assign(slices.document, message.mutable_document());
  Assign(slices.begin, message.mutable_begin());
  Assign(slices.end, message.mutable_end());
  message.set_front_slices(static_cast<uint32_t>(slices.front_slices));
  message.set_tokens(slices.tokens);
  message.set_padding(slices.padding);
  message.set_digest(DigestBytes(RankSlicesDigest(cp_rank, slices)));
  return message;
}

}  // namespace

ShardPlan MakePlan(Sharding sharding, const std::vector<uint32_t>& lengths,
                   uint32_t context_parallel, uint32_t pad_to) {
  const absl::StatusOr<ShardPlan> plan =
      PlanSharding(sharding, lengths, context_parallel, pad_to, {});
  if (!plan.ok()) {
    std::cerr << plan.status() << '\n';
    std::abort();
  }
  return *plan;
}

MicroBatch MakeMicroBatch(const std::vector<uint32_t>& lengths, const ShardPlan& plan,
                          uint64_t first_sequence) {
  MicroBatch micro_batch;
  for (const uint32_t length : lengths) {
    Document document;
    document.sequence = first_sequence++;
    document.id = document.sequence + 1000;
    document.length = length;
    document.document_length = length;
    document.loss_tokens = length;
    micro_batch.documents.push_back(document);
  }
  micro_batch.tokens = plan.tokens();
  micro_batch.padding = plan.padded_tokens - plan.tokens();
  micro_batch.workload_ns = static_cast<int64_t>(plan.tokens()) * 1000;
  micro_batch.sharding = plan.sharding;
  return micro_batch;
}

v1::MicroBatch ToMessage(const MicroBatch& micro_batch, const ShardPlan& plan,
                         uint32_t index, std::optional<uint32_t> cp_rank) {
  v1::MicroBatch message;
  message.set_index(index);
  for (const Document& document : micro_batch.documents) {
    message.mutable_documents()->add_sequence(document.sequence);
    message.mutable_documents()->add_id(document.id);
    message.mutable_documents()->add_length(document.length);
  }
  message.set_tokens(micro_batch.tokens);
  message.set_padding(micro_batch.padding);
  message.set_loss_tokens(LossTokens(micro_batch));
  message.set_sum_squared_lengths(SumOfSquaredLengths(micro_batch));
  message.set_workload_ns(micro_batch.workload_ns);
  message.set_digest(DigestBytes(MicroBatchDigest(micro_batch)));
  *message.mutable_plan() = ToMessage(plan);
  if (cp_rank.has_value()) {
    *message.mutable_slices() = ToMessage(ExpandRank(plan, *cp_rank), *cp_rank);
  }
  return message;
}

TestHistory::TestHistory(uint64_t steps, uint64_t seed, uint64_t differs_from)
    : epoch_(seed) {
  uint64_t sequence = 0;
  for (uint64_t index = 0; index < steps; ++index) {
    const uint64_t variant = index < differs_from ? 0 : seed;
    evenpack::Step step;
    step.index = index;
    step.epoch = variant;
    std::vector<ShardPlan> plans;
    for (uint64_t i = 0; i < uint64_t{kDataParallel} * kMicroBatchesPerRank; ++i) {
      std::vector<uint32_t> lengths;
      for (uint64_t k = 0; k < (index + i) % 4; ++k) {
        lengths.push_back(static_cast<uint32_t>(7 + 11 * index + 5 * i + k + variant));
      }
      plans.push_back(MakePlan(Sharding::kPerDocument, lengths, kContextParallel));
      step.micro_batches.push_back(MakeMicroBatch(lengths, plans.back(), sequence));
      sequence += lengths.size();
    }
    AddDigests(step);
    step.digest = StepDigest(DigestBefore(index), step);
    steps_.push_back(step);
    plans_.push_back(plans);
  }
}

Digest128 TestHistory::DigestBefore(uint64_t index) const {
  return index == 0 ? GenesisDigest() : steps_[index - 1].digest;
}

v1::JobSpec TestHistory::spec() const {
  v1::JobSpec spec;
  spec.add_streams()->set_name("web");
  spec.mutable_parallelism()->set_data(kDataParallel);
  spec.mutable_parallelism()->set_micro_batches_per_rank(kMicroBatchesPerRank);
  spec.mutable_parallelism()->set_context(kContextParallel);
  spec.set_window(1024);
  spec.mutable_consumer_layout()->set_layout(v1::LAYOUT_NATIVE);
  return spec;
}

v1::StreamStepsResponse TestHistory::Subscribed(uint64_t from_step,
                                                uint64_t durable_steps) const {
  v1::StreamStepsResponse response;
  v1::Subscribed& subscribed = *response.mutable_subscribed();
  subscribed.set_epoch(epoch_);
  *subscribed.mutable_spec() = spec();
  subscribed.set_from_step(from_step);
  subscribed.set_previous_digest(DigestBytes(DigestBefore(from_step)));
  subscribed.set_durable_steps(durable_steps);
  return response;
}

v1::StreamStepsResponse TestHistory::Step(uint64_t index, uint32_t dp_rank,
                                          std::optional<uint32_t> cp_rank) const {
  const evenpack::Step& step = steps_[index];
  v1::StreamStepsResponse response;
  v1::Step& message = *response.mutable_step();
  message.set_index(index);
  message.set_epoch(step.epoch);
  message.set_kind(v1::STEP_KIND_FULL_BATCH);
  message.set_dp_rank(dp_rank);
  for (uint32_t i = 0; i < step.micro_batches.size(); ++i) {
    const MicroBatch& micro_batch = step.micro_batches[i];
    if (i / kMicroBatchesPerRank == dp_rank) {
      *message.add_micro_batches() =
          ToMessage(micro_batch, plans_[index][i], i, cp_rank);
    }
    message.mutable_micro_batch_digests()->append(
        DigestBytes(MicroBatchDigest(micro_batch)));
  }
  message.set_digest(DigestBytes(step.digest));
  message.set_previous_digest(DigestBytes(DigestBefore(index)));
  message.mutable_totals()->set_tokens(StepTokens(step));
  message.mutable_totals()->set_micro_batches(
      static_cast<uint32_t>(step.micro_batches.size()));
  return response;
}

v1::StreamStepsResponse TestHistory::Drained() const {
  v1::StreamStepsResponse response;
  response.mutable_drained()->set_steps(size());
  response.mutable_drained()->set_digest(DigestBytes(DigestBefore(size())));
  return response;
}

v1::StreamStepsResponse TestHistory::DurableMarked(uint64_t durable_steps) {
  v1::StreamStepsResponse response;
  response.mutable_durable_marked()->set_durable_steps(durable_steps);
  return response;
}

}  // namespace evenpack::testing
