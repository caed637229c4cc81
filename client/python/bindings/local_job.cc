#include "client/python/bindings/local_job.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "evenpack/v1/job.pb.h"
#include "evenpack/v1/step.pb.h"
#include "server/core/document/invalid_field.h"
#include "server/core/engine/apply.h"
#include "server/core/engine/checkpoint.h"
#include "server/core/engine/decide.h"
#include "server/core/engine/state_codec.h"
#include "server/core/engine/stream_index.h"
#include "server/service/batch_conversion.h"
#include "server/service/spec_conversion.h"
#include "server/sessions/published_step.h"

namespace evenpack::python {
namespace {

absl::StatusOr<std::string> NoProfile(const std::string& name) {
  return absl::NotFoundError(absl::StrCat(
      "cost profile '", name,
      "': only a server keeps profiles; accepted: its tables in the spec"));
}

absl::StatusOr<JobSpec> ReadSpec(const std::string& bytes) {
  v1::JobSpec spec;
  if (!spec.ParseFromString(bytes)) {
    return InvalidField("spec", absl::StrCat(bytes.size(), " bytes"),
                        "an evenpack.v1.JobSpec");
  }
  return FromProto(spec, NoProfile);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LocalJob>> LocalJob::Create(const std::string& spec) {
  absl::StatusOr<JobSpec> read = ReadSpec(spec);
  if (!read.ok()) return read.status();
  if (TokensTravel(*read)) {
    return InvalidField("spec.payload_mode", "PAYLOAD_MODE_BY_VALUE",
                        "PAYLOAD_MODE_BY_REFERENCE, in the trainer's own process");
  }
  std::unique_ptr<LocalJob> job(new LocalJob());
  const absl::Status status = job->Do(CreateJob{*std::move(read)});
  if (!status.ok()) return InSpecNames(status);
  return job;
}

absl::StatusOr<std::unique_ptr<LocalJob>> LocalJob::Restore(
    const std::string& checkpoint) {
  std::unique_ptr<LocalJob> job(new LocalJob());
  absl::Status status = job->Do(RestoreJob{checkpoint});
  if (!status.ok()) return status;
  return job;
}

std::string LocalJob::spec() const { return DescriptionOf(*spec_).SerializeAsString(); }

absl::StatusOr<uint32_t> LocalJob::FindStream(const std::string& stream) const {
  return evenpack::FindStream(*spec_, stream);
}

absl::StatusOr<uint64_t> LocalJob::next_sequence(const std::string& stream) const {
  const absl::StatusOr<uint32_t> index = FindStream(stream);
  if (!index.ok()) return index.status();
  return state_.streams[*index].next_sequence;
}

absl::StatusOr<bool> LocalJob::ended(const std::string& stream) const {
  const absl::StatusOr<uint32_t> index = FindStream(stream);
  if (!index.ok()) return index.status();
  return state_.streams[*index].ended;
}

absl::Status LocalJob::Do(const Command& command) {
  absl::StatusOr<Event> event = Decide(state_, command);
  if (!event.ok()) return event.status();
  const bool new_spec = std::holds_alternative<JobCreated>(*event) ||
                        std::holds_alternative<JobUpdated>(*event) ||
                        std::holds_alternative<JobRestored>(*event);
  Apply(*std::move(event), state_);
  if (new_spec) spec_ = std::make_shared<const JobSpec>(state_.spec);
  return absl::OkStatus();
}

absl::Status LocalJob::Add(const Ingest& documents) {
  return InBatchNames(Do(documents));
}

absl::Status LocalJob::EndOfStream(const std::string& stream) {
  const absl::StatusOr<uint64_t> documents = next_sequence(stream);
  if (!documents.ok()) return documents.status();
  return Do(evenpack::EndOfStream{stream, *documents});
}

absl::Status LocalJob::Update(const std::string& spec) {
  absl::StatusOr<JobSpec> read = ReadSpec(spec);
  if (!read.ok()) return read.status();
  return InSpecNames(Do(UpdateJob{next_step(), *std::move(read)}));
}

absl::Status LocalJob::MarkDurable(uint64_t step) {
  const Step* found = FindStep(state_, step);
  // Of a checkpoint, or of before it.
  if (found == nullptr) return absl::OkStatus();
  const uint64_t epoch = found->epoch;
  absl::Status status;
  for (uint32_t rank = 0; status.ok() && rank < spec_->data_parallel; ++rank) {
    status = Do(Acknowledge{rank, step, epoch});
  }
  return status;
}

absl::StatusOr<std::string> LocalJob::NextStep(const StepView& view) {
  if (absl::Status status = CheckView(view, *spec_); !status.ok()) return status;
  const Digest128 previous = digest();
  const uint64_t index = next_step();
  if (index > 0) {
    if (absl::Status status = MarkDurable(index - 1); !status.ok()) return status;
  }
  if (absl::Status status = Do(FormStep{}); !status.ok()) return status;
  const Step& step = *FindStep(state_, index);
  const auto published = Publish(step, previous, spec_, {});
  if (!published.ok()) return published.status();
  v1::Step message;
  ToProto(**published, view, message);
  return message.SerializeAsString();
}

absl::StatusOr<std::string> LocalJob::Checkpoint(uint64_t step) const {
  const absl::StatusOr<JobState> state = CheckpointAfter(state_, step);
  if (!state.ok()) return state.status();
  return EncodeState(*state);
}

}  // namespace evenpack::python
