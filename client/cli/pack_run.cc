#include "client/cli/pack_run.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/emission_check.h"
#include "client/cli/job_flags.h"
#include "server/core/engine/admission_rule.h"
#include "server/core/engine/apply.h"
#include "server/core/engine/balanced_release.h"
#include "server/core/engine/decide.h"
#include "server/core/engine/job_state.h"
#include "server/core/outlier/length_classes.h"
#include "server/core/packing/assignment.h"

namespace evenpack {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

absl::Status Unexpected(const absl::Status& status) {
  return absl::InternalError(
      absl::StrCat("the engine refused a step of the run: ", status.ToString()));
}

class PackRun {
 public:
  PackRun(DocumentStream& stream, std::optional<uint64_t> max_steps,
          ProgressBar& progress, const StepHooks& hooks)
      : stream_(stream), max_steps_(max_steps), progress_(progress), hooks_(hooks) {}

  absl::StatusOr<PackFigures> Run(const JobSpec& spec) {
    if (absl::Status status = Do(CreateJob{spec}); !status.ok()) return status;
    bool drained = false;
    while (!drained) {
      const Clock::time_point start = Clock::now();
      absl::StatusOr<Event> event = Decide(state_, FormStep{});
      if (event.ok() && hooks_.change) {
        hooks_.change(state_, std::get<StepDecided>(*event));
      }
      const double seconds = SecondsSince(start);
      engine_seconds_ += seconds;
      absl::Status status;
      if (event.ok()) {
        status = TakeStep(std::get<StepDecided>(*std::move(event)), seconds);
      } else if (absl::IsFailedPrecondition(event.status())) {
        status = Feed(event.status());
      } else if (absl::IsOutOfRange(event.status())) {
        drained = true;
      } else {
        status = Unexpected(event.status());
      }
      if (!status.ok()) return status;
    }
    return Finish();
  }

 private:
  absl::Status Do(const Command& command) {
    const Clock::time_point start = Clock::now();
    absl::StatusOr<Event> event = Decide(state_, command);
    if (!event.ok()) return Unexpected(event.status());
    Apply(*std::move(event), state_);
    engine_seconds_ += SecondsSince(start);
    return absl::OkStatus();
  }

  absl::Status TakeStep(StepDecided decided, double decide_seconds) {
    const uint64_t index = decided.step.index;
    const StepKind kind = decided.step.kind;
    absl::Status status = Inspect(decided);
    if (status.ok() && hooks_.observe) status = hooks_.observe(decided);
    if (!status.ok()) return status;
    tally_.AddStep(kind, Balance(decided.step), decide_seconds,
                   decided.search_operations);
    if (kind == StepKind::kFullBatch) ++full_steps_;
    const Clock::time_point start = Clock::now();
    Apply(std::move(decided), state_);
    engine_seconds_ += SecondsSince(start);
    ShowProgress();
    for (uint32_t rank = 0; rank < state_.spec.data_parallel; ++rank) {
      if (status = Do(Acknowledge{rank, index}); !status.ok()) return status;
    }
    return status;
  }

  // By the costs that are true, where these are not the ones that decide.
  StepBalance Balance(const Step& step) const {
    const JobSpec& spec = state_.spec;
    if (!hooks_.true_costs.has_value()) {
      return MeasureBalance(step, spec.workload, spec.window);
    }
    Step weighed = step;
    for (MicroBatch& micro_batch : weighed.micro_batches) {
      micro_batch.workload_ns = Workload(micro_batch, *hooks_.true_costs);
    }
    return MeasureBalance(weighed, *hooks_.true_costs, spec.window);
  }

  absl::Status Inspect(const StepDecided& decided) {
    if (absl::Status status = CheckBounds(decided.step, state_.spec); !status.ok()) {
      return status;
    }
    for (const MicroBatch& micro_batch : decided.step.micro_batches) {
      for (const Document& piece : micro_batch.documents) {
        const absl::StatusOr<bool> ends_document = check_.Emit(piece);
        if (!ends_document.ok()) return ends_document.status();
        if (piece.batch >= decided.batches_admitted) {
          return absl::InternalError(absl::StrCat(
              "document ", piece.sequence, " of global batch ", piece.batch,
              " came out after ", decided.batches_admitted, " batches"));
        }
        tally_.AddPiece(piece.length, decided.batches_admitted - 1 - piece.batch,
                        *ends_document);
      }
    }
    return absl::OkStatus();
  }

  // `why`: what the engine said to FormStep.
  absl::Status Feed(const absl::Status& why) {
    if (state_.streams[0].ended) return Unexpected(why);
    const bool enough = max_steps_.has_value() && full_steps_ >= *max_steps_;
    if (!enough && !stream_.AtEnd()) return IngestWindow();
    return Do(EndOfStream{std::string(kStreamName), check_.documents_in()});
  }

  // What the next step lacks and no more, so that a run that ends after some number of
  // steps leaves nothing behind for another full one.
  absl::Status IngestWindow() {
    const uint64_t wanted = TokensWanted();
    Ingest ingest;
    ingest.stream = std::string(kStreamName);
    ingest.first_sequence = check_.documents_in();
    uint64_t tokens = 0;
    while (!stream_.AtEnd() && (tokens < wanted || ingest.lengths.empty())) {
      const uint32_t length = stream_.Next();
      ingest.lengths.push_back(length);
      tokens += length;
      if (IsLongDocument(length, state_.spec.window)) long_tokens_ += length;
    }
    check_.Accept(ingest.lengths);
    return Do(std::move(ingest));
  }

  uint64_t TokensWanted() const {
    const uint64_t target = AdmissionTarget(state_);
    return target - std::min(target, BufferedTokens(state_));
  }

  void ShowProgress() {
    if (max_steps_.has_value() && *max_steps_ < stream_.total()) {
      progress_.Update(full_steps_, *max_steps_);
    } else {
      progress_.Update(check_.documents_out(), stream_.total());
    }
  }

  // Documents, whole ones, that the engine holds.
  uint64_t LeftOver() const {
    std::set<uint64_t> waiting;
    ForEachWaiting(state_.waiting, [&waiting](const Document& document) {
      waiting.insert(document.sequence);
    });
    return state_.streams[0].buffer.size() + waiting.size();
  }

  std::vector<uint32_t> Classes() const {
    const PolicySpec& policy = state_.spec.policy;
    if (policy.kind != PolicyKind::kBalanced) return policy.queue_thresholds;
    const Position& position = state_.position;
    return ChooseClasses(
        position.sketch,
        {state_.spec.micro_batches, state_.spec.window,
         DelayPriceOf(state_.spec, position.mean_delay, position.novelty)},
        state_.spec.workload);
  }

  absl::StatusOr<PackFigures> Finish() {
    PackFigures figures = tally_.Figures();
    figures.documents_in = state_.streams[0].next_sequence;
    figures.documents_out = check_.documents_out();
    figures.tokens_in = check_.tokens_in();
    figures.tokens_out = check_.tokens_out();
    figures.left_over = LeftOver();
    if (figures.documents_in != figures.documents_out ||
        figures.tokens_in != figures.tokens_out || figures.left_over != 0) {
      return absl::InternalError(absl::StrCat(
          "the drained job gave out ", figures.documents_out, " of ",
          figures.documents_in, " documents and ", figures.tokens_out, " of ",
          figures.tokens_in, " tokens, and holds ", figures.left_over, " documents"));
    }
    figures.long_share_stream =
        static_cast<double>(long_tokens_) / static_cast<double>(figures.tokens_in);
    figures.documents_per_second =
        static_cast<double>(figures.documents_out) / engine_seconds_;
    figures.digest = ToHex(state_.position.digest);
    figures.classes = Classes();
    return figures;
  }

  DocumentStream& stream_;
  const std::optional<uint64_t> max_steps_;
  ProgressBar& progress_;
  const StepHooks& hooks_;
  JobState state_;
  EmissionCheck check_;
  PackTally tally_;
  uint64_t full_steps_ = 0;
  uint64_t long_tokens_ = 0;
  double engine_seconds_ = 0;
};

}  // namespace

absl::StatusOr<PackFigures> RunPack(const JobSpec& spec, DocumentStream& stream,
                                    std::optional<uint64_t> max_steps,
                                    ProgressBar& progress, const StepHooks& hooks) {
  return PackRun(stream, max_steps, progress, hooks).Run(spec);
}

}  // namespace evenpack
