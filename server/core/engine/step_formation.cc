#include "server/core/engine/step_formation.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/core/engine/admission.h"
#include "server/core/engine/admission_rule.h"
#include "server/core/engine/balanced_release.h"
#include "server/core/engine/balanced_step.h"
#include "server/core/engine/job_layout.h"
#include "server/core/outlier/mean_delay.h"
#include "server/core/outlier/novelty.h"
#include "server/core/outlier/queue_thresholds.h"
#include "server/core/outlier/release.h"
#include "server/core/packing/fixed_greedy.h"
#include "server/core/packing/original.h"
#include "server/core/packing/packing.h"
#include "server/core/packing/wlb.h"
#include "server/core/packing/work_list.h"
#include "server/core/sharding/plan_sharding.h"

namespace evenpack {
namespace {

absl::Status ChooseShardings(const JobSpec& spec, std::vector<MicroBatch>& packed) {
  for (MicroBatch& micro_batch : packed) {
    micro_batch.sharding = spec.sharding;
    if (!IsChosenPerMicroBatch(spec.sharding)) continue;
    const std::vector<uint32_t> lengths = LengthsOf(micro_batch.documents);
    const auto plan = PlanSharding(spec.sharding, lengths, spec.context_parallel,
                                   /*pad_to=*/0, spec.kernel_latency, spec.hybrid);
    if (!plan.ok()) return plan.status();
    micro_batch.sharding = plan->sharding;
  }
  return absl::OkStatus();
}

// The documents of one step on their way into micro-batches.
class StepFormer {
 public:
  StepFormer(const JobState& state, StepKind kind, Admission admission)
      : state_(state), spec_(state.spec), admission_(std::move(admission)) {
    decided_.step.kind = kind;
    decided_.merge = std::move(admission_.merge);
    decided_.admitted = std::move(admission_.taken);
    decided_.batches_admitted = state.position.batches_admitted + admission_.batches;
    due_before_ = DueBeforeBatch(spec_, decided_.batches_admitted);
    capacity_ = CapacityOf(spec_);
  }

  absl::StatusOr<StepDecided> Form() {
    if (absl::Status status = Emit(Pack()); !status.ok()) return status;
    return std::move(decided_);
  }

 private:
  Packing Pack() {
    switch (spec_.policy.kind) {
      case PolicyKind::kOriginal:
        return PackByOriginal();
      case PolicyKind::kFixedGreedy:
        return PackByFixedGreedy();
      case PolicyKind::kWlb:
        return PackByWlb();
      case PolicyKind::kBalanced:
        return PackByBalance();
    }
    return {};
  }

  Packing PackByOriginal() const {
    WorkList documents = PointTo(state_.waiting.left_over);
    SortOldestFirst(documents);
    Append(PointTo(admission_.documents), documents);
    return PackOriginal(documents,
                        {spec_.micro_batches, capacity_, spec_.policy.split_documents},
                        spec_.workload);
  }

  Packing PackByFixedGreedy() const {
    Parts parts;
    SplitLeftOver(parts.due, parts.sorted);
    Append(PointTo(admission_.documents), parts.sorted);
    const uint64_t tokens = WaitingTokens(state_.waiting) + admission_.tokens;
    const uint64_t batch = GlobalBatchTokens(spec_);
    const uint64_t steps = std::clamp<uint64_t>((tokens + batch - 1) / batch, 1,
                                                spec_.policy.window_batches);
    return PackFixedGreedy(Arrange(std::move(parts)), steps * spec_.micro_batches,
                           capacity_, spec_.workload);
  }

  Packing PackByWlb() {
    Parts parts;
    const WorkList fresh = EnterQueues();
    SplitLeftOver(parts.due, parts.left_over);
    // A step without a token would leave a trainer nothing to divide by.
    const bool nothing_else = fresh.empty() && state_.waiting.left_over.empty();
    ReleaseQueues(/*short_queues=*/false, parts);
    if (nothing_else && parts.due.empty() && parts.sorted.empty()) {
      ReleaseQueues(/*short_queues=*/true, parts);
    }
    Append(fresh, parts.sorted);
    return PackWlb(Arrange(std::move(parts)), spec_.micro_batches, capacity_,
                   spec_.workload);
  }

  Packing PackByBalance() {
    BalancedPool pool;
    pool.kind = decided_.step.kind;
    pool.batches_admitted = decided_.batches_admitted;
    SplitLeftOver(pool.due, pool.others);
    SortOldestFirst(pool.due);
    Append(PointTo(admission_.documents), pool.others);
    decided_.sketch = SketchAfter(state_.position.sketch, admission_.documents);
    decided_.mean_delay = state_.position.mean_delay;
    decided_.novelty = state_.position.novelty;
    if (!admission_.documents.empty()) {
      decided_.mean_delay = MeanDelayAfter(
          decided_.mean_delay, WaitingTokens(state_.waiting), GlobalBatchTokens(spec_));
      decided_.novelty =
          NoveltyAfter(decided_.novelty, decided_.sketch, admission_.documents);
    }
    pool.delay_price_ppm = DelayPriceOf(spec_, decided_.mean_delay, decided_.novelty);
    BalancedStep step = FormBalancedStep(spec_, decided_.sketch, pool);
    decided_.search_operations = step.operations;
    return std::move(step.packing);
  }

  // A work list before it is put in order: due documents go first, oldest first, then
  // those left over before, then the others longest first.
  struct Parts {
    WorkList due;
    WorkList left_over;
    WorkList sorted;
  };

  static WorkList Arrange(Parts parts) {
    SortOldestFirst(parts.due);
    SortLongestFirst(parts.sorted);
    WorkList work_list = std::move(parts.due);
    Append(parts.left_over, work_list);
    Append(parts.sorted, work_list);
    return work_list;
  }

  static void Append(const WorkList& documents, WorkList& work_list) {
    work_list.insert(work_list.end(), documents.begin(), documents.end());
  }

  bool IsDue(const Document& document) const { return document.batch < due_before_; }

  void SplitLeftOver(WorkList& due, WorkList& rest) const {
    for (const Document& document : state_.waiting.left_over) {
      (IsDue(document) ? due : rest).push_back(&document);
    }
  }

  // Puts new outliers in their queues and returns the other new documents.
  WorkList EnterQueues() {
    decided_.entered.resize(state_.waiting.queues.size());
    WorkList fresh;
    fresh.reserve(admission_.documents.size());
    for (const Document& document : admission_.documents) {
      const std::optional<size_t> queue =
          QueueOf(spec_.policy.queue_thresholds, document.length);
      if (queue.has_value()) {
        decided_.entered[*queue].push_back(document);
      } else {
        fresh.push_back(&document);
      }
    }
    return fresh;
  }

  // Adds what the queues give up: to `due` or, in queue order, to `sorted`.
  void ReleaseQueues(bool short_queues, Parts& parts) {
    const std::vector<size_t> counts =
        PlanRelease(state_.waiting.queues, decided_.entered,
                    {.micro_batches = spec_.micro_batches,
                     .release_short_queues =
                         short_queues || decided_.step.kind != StepKind::kFullBatch,
                     .due_before_batch = due_before_});
    decided_.released.assign(counts.begin(), counts.end());
    for (size_t k = 0; k < counts.size(); ++k) {
      const std::span<const Document> queued = state_.waiting.queues[k].view();
      for (size_t i = 0; i < counts[k]; ++i) {
        const Document& document =
            i < queued.size() ? queued[i] : decided_.entered[k][i - queued.size()];
        (IsDue(document) ? parts.due : parts.sorted).push_back(&document);
      }
    }
  }

  // Says how the list of left-overs changes: what was in it and is not packed keeps its
  // place.
  void KeepLeftOver(const Packing& packing) {
    const std::vector<Document>& before = state_.waiting.left_over;
    const Document* const first = before.data();
    std::vector<bool> stays(before.size(), false);
    if (packing.rest.has_value()) decided_.left_over_added.push_back(*packing.rest);
    for (const Document* document : packing.left_over) {
      const bool was_there = std::less_equal<>()(first, document) &&
                             std::less<>()(document, first + before.size());
      if (was_there) {
        stays[static_cast<size_t>(document - first)] = true;
      } else {
        decided_.left_over_added.push_back(*document);
      }
    }
    for (size_t i = 0; i < stays.size(); ++i) {
      if (!stays[i]) decided_.left_over_taken.push_back(i);
    }
  }

  // The first N micro-batches are this step, the rest are the window's next steps.
  absl::Status Emit(Packing packing) {
    if (absl::Status status = ChooseShardings(spec_, packing.micro_batches);
        !status.ok()) {
      return status;
    }
    KeepLeftOver(packing);
    auto next = std::make_move_iterator(packing.micro_batches.begin());
    const auto end = std::make_move_iterator(packing.micro_batches.end());
    const auto count = static_cast<ptrdiff_t>(spec_.micro_batches);
    decided_.step.micro_batches.assign(next, next + count);
    for (next += count; next != end; next += count) {
      Step later;
      later.kind = decided_.step.kind;
      later.micro_batches.assign(next, next + count);
      // Few long documents leave the lightest micro-batches, which come last, empty.
      if (StepTokens(later) == 0) break;
      decided_.planned.push_back(std::move(later));
    }
    return absl::OkStatus();
  }

  const JobState& state_;
  const JobSpec& spec_;
  Admission admission_;
  uint64_t due_before_ = 0;
  Capacity capacity_;
  StepDecided decided_;
};

// Of the stream that is awaited nothing has come since.
bool StillWaits(const JobState& state, const KnownOfWaiting& known) {
  if (!known.awaited.has_value()) return false;
  const StreamState& stream = state.streams[known.awaited->stream];
  return !stream.ended && stream.next_sequence == known.awaited->next_sequence;
}

// None where there are too few documents.
absl::StatusOr<std::optional<StepDecided>> FormFromDocuments(const JobState& state,
                                                             KnownOfWaiting& known) {
  if (!known.make_no_step && (AdmitsNothing(state) || WaitingMakesAStep(state))) {
    return StepFormer(state, StepKind::kBacklog, NoAdmission(state)).Form();
  }
  known.make_no_step = true;
  const uint64_t target = AdmissionTarget(state);
  if (StillWaits(state, known) || MustWait(state, target)) return std::nullopt;
  Admission admission = Admit(state, target);
  if (admission.awaited.has_value()) {
    const size_t stream = *admission.awaited;
    known.awaited = {stream, state.streams[stream].next_sequence};
  }
  if (admission.tokens >= target) {
    return StepFormer(state, StepKind::kFullBatch, std::move(admission)).Form();
  }
  if (!admission.exhausted) return std::nullopt;
  if (admission.documents.empty() && IsEmpty(state.waiting)) {
    return absl::OutOfRangeError(absl::StrCat(
        "the job is drained: its last step is ",
        state.position.next_step == 0 ? "none, it had no documents"
                                      : absl::StrCat(state.position.next_step - 1)));
  }
  return StepFormer(state, StepKind::kDrain, std::move(admission)).Form();
}

StepDecided NextPlanned(const JobState& state) {
  StepDecided decided;
  decided.from_plan = true;
  decided.step = state.waiting.planned.front();
  decided.batches_admitted = state.position.batches_admitted;
  return decided;
}

}  // namespace

void AddDigests(const Digest128& before, StepDecided& decided) {
  if (!decided.from_plan) {
    AddDigests(decided.step);
    for (Step& later : decided.planned) AddDigests(later);
  }
  decided.step.digest = StepDigest(before, decided.step);
}

bool LeavesWaiting(const Event& event) {
  return std::holds_alternative<DocumentsAccepted>(event) ||
         std::holds_alternative<StreamEnded>(event) ||
         std::holds_alternative<DurableMarked>(event);
}

absl::StatusOr<std::optional<StepDecided>> NextStep(const JobState& state,
                                                    KnownOfWaiting* known) {
  if (state.position.next_step - DurableSteps(state) >= state.spec.max_steps_ahead) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "max_steps_ahead: ", state.spec.max_steps_ahead,
        " decided steps wait to be made durable; acknowledge steps to go on"));
  }
  KnownOfWaiting nothing;
  absl::StatusOr<std::optional<StepDecided>> next =
      state.waiting.planned.empty()
          ? FormFromDocuments(state, known == nullptr ? nothing : *known)
          : NextPlanned(state);
  if (!next.ok() || !next->has_value()) return next;
  StepDecided& decided = **next;
  decided.step.index = state.position.next_step;
  decided.step.epoch = state.epoch;
  AddDigests(state.position.digest, decided);
  return next;
}

absl::StatusOr<StepDecided> DecideStep(const JobState& state) {
  absl::StatusOr<std::optional<StepDecided>> next = NextStep(state);
  if (!next.ok()) return next.status();
  if (next->has_value()) return **std::move(next);
  return absl::FailedPreconditionError(absl::StrCat(
      "step ", state.position.next_step, " admits ", AdmissionTarget(state),
      " tokens and ", BufferedTokens(state),
      " are buffered, of which the merge may wait for a stream; ingest more documents "
      "or end the streams"));
}

}  // namespace evenpack
