#include "tests/fuzz/request_player.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>
#include <vector>

#include "client/cpp/rank_step.h"
#include "client/cpp/verify_step.h"
#include "evenpack/v1/packing_service.pb.h"
#include "evenpack/v1/step.pb.h"
#include "server/core/engine/admission_rule.h"
#include "server/core/engine/checkpoint.h"
#include "server/core/engine/decide.h"
#include "server/core/engine/job_layout.h"
#include "server/core/engine/state_codec.h"
#include "server/core/sharding/validate_plan.h"
#include "server/service/batch_conversion.h"
#include "server/service/rewind_conversion.h"
#include "server/service/spec_conversion.h"
#include "server/service/step_conversion.h"
#include "server/service/subscribe_conversion.h"
#include "server/sessions/subscribe_check.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/sealed_state.h"

namespace evenpack::fuzz {
namespace {

// A request's refusal is turned into the API's words before it is told.
void RequireTold(const absl::Status& refused) {
  RequireRefusal(refused, "a refusal", absl::StatusCode::kInvalidArgument,
                 absl::StatusCode::kUnimplemented, absl::StatusCode::kOutOfRange,
                 absl::StatusCode::kAborted, absl::StatusCode::kFailedPrecondition,
                 absl::StatusCode::kNotFound, absl::StatusCode::kAlreadyExists,
                 absl::StatusCode::kResourceExhausted, absl::StatusCode::kDataLoss);
}

// Documents of up to so many pieces leave time for others.
bool HasFewPieces(uint64_t tokens, const JobSpec& spec) {
  constexpr uint64_t kMostPieces = 2048;
  return !spec.split_overlong || tokens / LongestDocument(spec) <= kMostPieces;
}

// What was skipped since may have been in a step.
bool SkipsAny(const JobState& state) {
  return std::any_of(state.streams.begin(), state.streams.end(),
                     [](const StreamState& stream) { return !stream.skipped.empty(); });
}

// The step as each rank receives it.
void RequireVerified(const PublishedStep& published) {
  const JobSpec& spec = *published.spec;
  const auto description = std::make_shared<const v1::JobSpec>(DescriptionOf(spec));
  for (uint32_t rank = 0; rank < spec.data_parallel; ++rank) {
    v1::Step sent;
    const StepView view = {rank, rank % spec.context_parallel};
    RequireOk(CheckView(view, spec), "a rank has a view");
    ToProto(published, view, sent);
    v1::Step received;
    Require(received.ParseFromString(sent.SerializeAsString()), "a step can be sent");
    const auto step = Required(client::RankStep::FromMessage(received, description),
                               "a step can be read");
    RequireOk(client::VerifyStep(step, published.previous), "a step is what it claims");
  }
}

}  // namespace

template <typename Message>
void RequestPlayer::TakeBytes(const std::string& bytes) {
  Message message;
  if (message.ParseFromString(bytes)) Take(message);
}

void RequestPlayer::Play(const Request& request) {
  switch (request.kind) {
    case RequestKind::kCreateJob:
      return TakeBytes<v1::CreateJobRequest>(request.bytes);
    case RequestKind::kUpdateJob:
      return TakeBytes<v1::UpdateJobRequest>(request.bytes);
    case RequestKind::kIngest:
      return TakeBytes<v1::IngestRequest>(request.bytes);
    case RequestKind::kStreamSteps:
      return TakeBytes<v1::StreamStepsRequest>(request.bytes);
    case RequestKind::kGetStep:
      return TakeBytes<v1::GetStepRequest>(request.bytes);
    case RequestKind::kAcknowledge:
      return TakeBytes<v1::AcknowledgeRequest>(request.bytes);
    case RequestKind::kCheckpointJob:
      return TakeBytes<v1::CheckpointJobRequest>(request.bytes);
    case RequestKind::kRestoreJob:
      return TakeBytes<v1::RestoreJobRequest>(request.bytes);
    case RequestKind::kRewindJob:
      return TakeBytes<v1::RewindJobRequest>(request.bytes);
    case RequestKind::kSkipDocuments:
      return TakeBytes<v1::SkipDocumentsRequest>(request.bytes);
  }
}

void RequestPlayer::Finish() const {
  if (!job_.state().created) return;
  ledger_.RequireExactlyOnce(job_.state());
  job_.RequireStored("");
  // The target state tries longer histories.
  constexpr uint64_t kMostKept = 4;
  if (window_.end() - window_.begin() <= kMostKept) job_.RequireCheckpoints();
}

std::optional<JobSpec> RequestPlayer::SpecOf(const v1::JobSpec& given) const {
  absl::StatusOr<JobSpec> spec = FromProto(given);
  if (!spec.ok()) {
    RequireTold(spec.status());
    return std::nullopt;
  }
  const JobSpec again =
      Required(FromProto(DescriptionOf(*spec)), "a spec's description");
  Require(again == *spec, "a description gives the spec");
  if (!fuzz::IsSmall(*spec)) return std::nullopt;
  return *std::move(spec);
}

void RequestPlayer::Take(const v1::CreateJobRequest& request) {
  std::optional<JobSpec> spec = SpecOf(request.spec());
  if (!spec.has_value()) return;
  if (job_.Do(CreateJob{*spec}).ok()) {
    spec_ = std::make_shared<const JobSpec>(*std::move(spec));
    stream_ = spec_->streams[0].name;
  }
}

void RequestPlayer::Take(const v1::UpdateJobRequest& request) {
  if (!job_.state().created) return;
  std::optional<JobSpec> spec = SpecOf(request.spec());
  if (!spec.has_value()) return;
  if (!HasFewPieces(BufferedTokens(job_.state()), *spec)) return;
  const uint64_t next = job_.state().position.next_step;
  const uint64_t from = request.has_from_step() ? request.from_step() : next;
  const auto updated = job_.Do(UpdateJob{from, *spec});
  if (!updated.ok()) return RequireTold(InSpecNames(updated.status()));
  FollowReconfigured();
}

void RequestPlayer::FollowReconfigured() {
  const JobState& state = job_.state();
  spec_ = std::make_shared<const JobSpec>(state.spec);
  ledger_.Withdraw(state.position.next_step);
  window_.Withdraw(state.position.next_step);
  ledger_.RequireExactlyOnce(state);
}

void RequestPlayer::Take(const v1::RewindJobRequest& request) {
  if (!job_.state().created) return;
  if (request.has_spec()) {
    const std::optional<JobSpec> spec = SpecOf(request.spec());
    if (!spec.has_value() || !HasFewPieces(BufferedTokens(job_.state()), *spec)) return;
  }
  const absl::StatusOr<Command> command = FromProto(request);
  if (!command.ok()) return RequireTold(command.status());
  const auto* by_step = std::get_if<RewindJob>(&*command);
  if (by_step == nullptr) {
    const RewindToCheckpoint sealed = {Sealed(request.checkpoint()), {}};
    const auto decided = Decide(job_.state(), sealed);
    if (!decided.ok()) RequireTold(InRewindNames(decided.status()));
    return;
  }
  const auto rewound = job_.Do(*by_step);
  if (!rewound.ok()) return RequireTold(InRewindNames(rewound.status()));
  Require(job_.state().position.next_step == by_step->from_step,
          "a rewind goes where it is asked to");
  FollowReconfigured();
}

void RequestPlayer::Take(const v1::SkipDocumentsRequest& request) {
  if (!job_.state().created) return;
  const auto skipped = job_.Do(FromProto(request, job_.state().position.next_step));
  if (!skipped.ok()) return RequireTold(skipped.status());
  FollowReconfigured();
}

void RequestPlayer::Take(const v1::IngestRequest& request) {
  if (!job_.state().created) return;
  if (request.has_open()) stream_ = request.open().stream();
  if (request.has_end_of_stream()) {
    static_cast<void>(
        job_.Do(EndOfStream{stream_, request.end_of_stream().documents()}));
  }
  if (!request.has_batch()) return;
  const absl::StatusOr<Ingest> ingest = FromProto(stream_, request.batch());
  if (!ingest.ok()) return RequireTold(ingest.status());
  const uint64_t tokens =
      std::accumulate(ingest->lengths.begin(), ingest->lengths.end(), uint64_t{0});
  if (!HasFewPieces(tokens, *spec_)) return;
  const auto accepted = job_.Do(*ingest);
  if (!accepted.ok()) return RequireTold(InBatchNames(accepted.status()));
  ledger_.Accept(std::get<DocumentsAccepted>(*accepted).documents);
}

void RequestPlayer::Publish(const Step& step) {
  const Digest128 previous = window_.last_digest();
  auto published = Required(evenpack::Publish(step, previous, spec_, {}),
                            "a step's micro-batches can be sharded");
  for (size_t i = 0; i < published->plans.size(); ++i) {
    std::vector<uint32_t> lengths;
    for (const Document& document : step.micro_batches[i].documents) {
      lengths.push_back(document.length);
    }
    RequireOk(Validate(published->plans[i], lengths), "a shard plan");
  }
  RequireVerified(*published);
  window_.Publish(std::move(published));
}

bool RequestPlayer::FormOne() {
  const absl::StatusOr<Event> event = job_.Do(FormStep{});
  if (!event.ok()) {
    RequireTold(event.status());
    return false;
  }
  const Step& step = std::get<StepDecided>(*event).step;
  Require(StepTokens(step) > 0, "a step has tokens");
  ledger_.Emit(step, spec_);
  Publish(step);
  return true;
}

// The service forms steps by itself; here a request for one does.
void RequestPlayer::Take(const v1::GetStepRequest& request) {
  constexpr uint64_t kMostAtOnce = 8;
  if (!job_.state().created) return;
  const uint64_t count = std::min(request.step() % kMostAtOnce + 1, kMostAtOnce);
  for (uint64_t i = 0; i < count && FormOne(); ++i) {
  }
  const auto found = window_.Find(request.step());
  if (!found.ok()) RequireTold(found.status());
}

void RequestPlayer::Take(const v1::StreamStepsRequest& request) {
  if (!job_.state().created) return;
  if (request.has_durable()) {
    v1::AcknowledgeRequest mark;
    mark.set_step(request.durable().step());
    mark.set_epoch(request.durable().epoch());
    return Take(mark);
  }
  const auto subscribe = FromProto(request.subscribe());
  if (!subscribe.ok()) return RequireTold(subscribe.status());
  const JobState& state = job_.state();
  const auto from = CheckSubscribe(
      *subscribe, {window_, state.spec, state.epoch, IsDrained(state), state.durable});
  if (!from.ok()) return RequireTold(from.status());
  Require(*from >= window_.begin() && *from <= window_.end(),
          "a subscription begins with a step that is kept");
}

void RequestPlayer::Take(const v1::AcknowledgeRequest& request) {
  if (!job_.state().created) return;
  const auto marked =
      job_.Do(Acknowledge{request.dp_rank(), request.step(), request.epoch()});
  if (!marked.ok()) return RequireTold(marked.status());
  // As ShownJob: what the state let go of is no longer shown.
  uint64_t oldest = job_.state().position.next_step;
  for (const HistoryRecord& record : job_.state().history) {
    if (const auto* step = std::get_if<StepRecord>(&record)) {
      oldest = step->step.index;
      break;
    }
  }
  window_.LetGo(oldest);
}

// What was decided after a checkpoint is decided again, byte for byte, unless the spec
// changed there.
void RequestPlayer::RequireGoesOn(const FuzzJob& restored) const {
  const uint64_t next = restored.state().position.next_step;
  if (next >= ledger_.emitted().size()) return;
  const Ledger::Emitted& then = ledger_.emitted()[next];
  if (*then.spec != restored.state().spec || SkipsAny(restored.state())) return;
  FuzzJob copy(restored.state());
  const Event event = Required(copy.Do(FormStep{}), "a restored job goes on");
  Require(std::get<StepDecided>(event).step.digest == then.step.digest,
          "a restored job decides the same step");
}

void RequestPlayer::GoOnFrom(FuzzJob restored) {
  const uint64_t next = restored.state().position.next_step;
  job_ = std::move(restored);
  spec_ = std::make_shared<const JobSpec>(job_.state().spec);
  ledger_.Withdraw(next);
  ledger_.RequireExactlyOnce(job_.state());
  window_ = StepWindow(next, job_.state().position.digest);
}

void RequestPlayer::Take(const v1::CheckpointJobRequest& request) {
  if (!job_.state().created) return;
  const absl::StatusOr<JobState> then = CheckpointAfter(job_.state(), request.step());
  if (!then.ok()) return RequireTold(then.status());
  FuzzJob restored;
  RequireOk(restored.Do(RestoreJob{EncodeState(*then)}).status(),
            "a checkpoint is restored");
  RequireGoesOn(restored);
  GoOnFrom(std::move(restored));
}

void RequestPlayer::Take(const v1::RestoreJobRequest& request) {
  FuzzJob other;
  const auto restored = other.Do(RestoreJob{Sealed(request.checkpoint())});
  if (!restored.ok()) RequireTold(restored.status());
}

}  // namespace evenpack::fuzz
