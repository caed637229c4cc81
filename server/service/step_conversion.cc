#include "server/service/step_conversion.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "evenpack/v1/step.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/core/document/invalid_field.h"
#include "server/core/sharding/plan_digest.h"
#include "server/service/layout_names.h"

namespace evenpack {
namespace {

// A column, left out where each entry is what the reader assumes.
template <typename Column, typename Value, typename Assumed>
void AddColumn(std::span<const Document> documents, Value value, Assumed assumed,
               Column& column) {
  const bool needed = std::any_of(
      documents.begin(), documents.end(),
      [&](const Document& document) { return value(document) != assumed(document); });
  if (!needed) return;
  column.Reserve(static_cast<int>(documents.size()));
  for (const Document& document : documents) {
    column.AddAlreadyReserved(value(document));
  }
}

template <typename From, typename To>
void CopyColumn(const From& from, To& to) {
  to.Add(from.begin(), from.end());
}

// The same, left out where all are 0.
template <typename From, typename To>
void CopyUnlessZero(const From& from, To& to) {
  if (std::any_of(from.begin(), from.end(), [](auto value) { return value != 0; })) {
    CopyColumn(from, to);
  }
}

// `slices`: memory for those of any micro-batch.
void AddMicroBatch(const PublishedStep& published, uint32_t index, const StepView& view,
                   RankSlices& slices, v1::MicroBatch& to) {
  ToProto(published, index, to);
  const ShardPlan& plan = published.plans[index];
  if (view.cp_rank.has_value() && *view.cp_rank < plan.context_parallel) {
    ExpandRankInto(plan, *view.cp_rank, slices);
    ToProto(*view.cp_rank, slices, *to.mutable_slices());
    if (published.tokens != nullptr) {
      to.mutable_documents()->set_token_ids(published.tokens->Of(index, slices));
    }
  } else if (published.tokens != nullptr) {
    to.mutable_documents()->set_token_ids(published.tokens->Whole(index));
  }
}

void AddTotals(const PublishedStep& published, v1::StepTotals& to) {
  const StepTotals& totals = published.totals;
  to.set_tokens(totals.tokens);
  to.set_padding(totals.padding);
  to.set_loss_tokens(totals.loss_tokens);
  to.set_sum_squared_lengths(totals.sum_squared_lengths);
  to.set_max_workload_ns(totals.max_workload_ns);
  to.set_total_workload_ns(totals.total_workload_ns);
  to.set_micro_batches(static_cast<uint32_t>(published.step.micro_batches.size()));
}

}  // namespace

absl::Status CheckView(const StepView& view, const JobSpec& spec) {
  absl::Status status =
      CheckRange<uint32_t>("dp_rank", view.dp_rank, 0, spec.data_parallel - 1);
  if (status.ok() && view.cp_rank.has_value()) {
    status =
        CheckRange<uint32_t>("cp_rank", *view.cp_rank, 0, spec.context_parallel - 1);
  }
  return status;
}

v1::StepKind ToProto(StepKind kind) {
  switch (kind) {
    case StepKind::kFullBatch:
      return v1::STEP_KIND_FULL_BATCH;
    case StepKind::kBacklog:
      return v1::STEP_KIND_BACKLOG;
    case StepKind::kDrain:
      return v1::STEP_KIND_DRAIN;
  }
  return v1::STEP_KIND_UNSPECIFIED;
}

void ToProto(std::span<const Document> documents, v1::Documents& to) {
  const auto zero = [](const Document&) { return 0U; };
  const int count = static_cast<int>(documents.size());
  to.mutable_sequence()->Reserve(count);
  to.mutable_length()->Reserve(count);
  for (const Document& document : documents) {
    to.mutable_sequence()->AddAlreadyReserved(document.sequence);
    to.mutable_length()->AddAlreadyReserved(document.length);
  }
  const auto length = [](const Document& d) { return d.length; };
  AddColumn(
      documents, [](const Document& d) { return d.stream; }, zero,
      *to.mutable_stream());
  AddColumn(
      documents, [](const Document& d) { return d.id; },
      [](const Document& d) { return d.sequence; }, *to.mutable_id());
  AddColumn(
      documents, [](const Document& d) { return d.offset; }, zero,
      *to.mutable_offset());
  AddColumn(
      documents, [](const Document& d) { return d.document_length; }, length,
      *to.mutable_document_length());
  AddColumn(
      documents, [](const Document& d) { return d.loss_tokens; }, length,
      *to.mutable_loss_tokens());
  AddColumn(
      documents, [](const Document& d) { return d.source; }, zero,
      *to.mutable_source());
}

void ToProto(const ShardPlan& plan, const Digest128& digest,
             std::span<const uint64_t> rank_tokens,
             std::span<const uint64_t> rank_padding, v1::ShardPlan& to) {
  to.set_sharding(ToProto(plan.sharding));
  to.set_context_parallel(plan.context_parallel);
  to.set_pad_multiple(plan.pad_multiple);
  to.set_padded_tokens(plan.padded_tokens);
  CopyColumn(plan.slot_starts, *to.mutable_slot_starts());
  CopyColumn(plan.slot_tokens, *to.mutable_slot_tokens());
  CopyUnlessZero(plan.left_over, *to.mutable_left_over());
  CopyUnlessZero(plan.cursor, *to.mutable_cursor());
  CopyColumn(rank_tokens, *to.mutable_rank_tokens());
  CopyUnlessZero(rank_padding, *to.mutable_rank_padding());
  for (const uint16_t owner : plan.owner) {
    to.add_owner(owner == kCutDocument ? 0 : owner + 1U);
  }
  to.set_digest(DigestBytes(digest));
}

void ToProto(uint32_t cp_rank, const RankSlices& slices, v1::RankSlices& to) {
  to.set_cp_rank(cp_rank);
  CopyColumn(slices.document, *to.mutable_document());
  CopyColumn(slices.begin, *to.mutable_begin());
  CopyColumn(slices.end, *to.mutable_end());
  to.set_front_slices(static_cast<uint32_t>(slices.front_slices));
  to.set_tokens(slices.tokens);
  to.set_padding(slices.padding);
  to.set_digest(DigestBytes(RankSlicesDigest(cp_rank, slices)));
}

void ToProto(const PublishedStep& published, uint32_t index, v1::MicroBatch& to) {
  const MicroBatch& micro_batch = published.step.micro_batches[index];
  to.set_index(index);
  ToProto(micro_batch.documents, *to.mutable_documents());
  to.set_tokens(micro_batch.tokens);
  to.set_padding(micro_batch.padding);
  to.set_loss_tokens(LossTokens(micro_batch));
  to.set_sum_squared_lengths(SumOfSquaredLengths(micro_batch));
  to.set_workload_ns(micro_batch.workload_ns);
  to.set_digest(DigestBytes(micro_batch.digest));
  const ShardPlan& plan = published.plans[index];
  // Most groups need no more memory for them.
  absl::InlinedVector<uint64_t, 16> rank_tokens;
  absl::InlinedVector<uint64_t, 16> rank_padding;
  for (const RankLoad& load : published.rank_loads[index]) {
    rank_tokens.push_back(load.tokens);
    rank_padding.push_back(load.padding);
  }
  ToProto(plan, published.plan_digests[index], rank_tokens, rank_padding,
          *to.mutable_plan());
}

void ToProto(const PublishedStep& published, const StepView& view, v1::Step& to) {
  const Step& step = published.step;
  to.set_index(step.index);
  to.set_epoch(step.epoch);
  to.set_kind(ToProto(step.kind));
  to.set_dp_rank(view.dp_rank);
  const JobSpec& spec = *published.spec;
  const uint32_t per_rank = spec.micro_batches / spec.data_parallel;
  if (view.dp_rank < spec.data_parallel) {
    RankSlices slices;
    for (uint32_t i = 0; i < per_rank; ++i) {
      AddMicroBatch(published, view.dp_rank * per_rank + i, view, slices,
                    *to.add_micro_batches());
    }
  }
  // Not reserved: in one size class with messages that wait to be sent, it left the
  // allocator 4 KiB more for each of 8,192 subscribers.
  std::string& digests = *to.mutable_micro_batch_digests();
  for (const MicroBatch& micro_batch : step.micro_batches) {
    AppendDigest(micro_batch.digest, digests);
  }
  to.set_digest(DigestBytes(step.digest));
  to.set_previous_digest(DigestBytes(published.previous));
  AddTotals(published, *to.mutable_totals());
}

}  // namespace evenpack
