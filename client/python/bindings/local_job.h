// A job in the trainer's own process: the engine, and what a server would make of its
// steps.
#ifndef EVENPACK_CLIENT_PYTHON_BINDINGS_LOCAL_JOB_H_
#define EVENPACK_CLIENT_PYTHON_BINDINGS_LOCAL_JOB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/engine/command.h"
#include "server/core/engine/job_state.h"
#include "server/service/step_conversion.h"

namespace evenpack::python {

// Every rank of a run has one, is given the same documents and so decides the same
// steps. A step is durable once the next one is asked for: who goes back restores a
// checkpoint. Not thread-safe.
class LocalJob {
 public:
  // `spec`: the bytes of an evenpack.v1.JobSpec. INVALID_ARGUMENT naming the field as
  // CreateJob does; a cost that names a profile is NOT_FOUND, since only servers keep
  // profiles.
  static absl::StatusOr<std::unique_ptr<LocalJob>> Create(const std::string& spec);
  // As the checkpoint of a server's job or of one of these has it. DATA_LOSS: it is
  // damaged. FAILED_PRECONDITION: it is of another version.
  static absl::StatusOr<std::unique_ptr<LocalJob>> Restore(
      const std::string& checkpoint);

  // Bytes of the JobSpec, with its defaults.
  std::string spec() const;
  uint64_t epoch() const { return state_.epoch; }
  // Index of the step that NextStep() decides, and the digest of the one before.
  uint64_t next_step() const { return state_.position.next_step; }
  Digest128 digest() const { return state_.position.digest; }
  // Of the next document of a stream. NOT_FOUND: no such stream.
  absl::StatusOr<uint64_t> next_sequence(const std::string& stream) const;
  absl::StatusOr<bool> ended(const std::string& stream) const;

  // Errors of Decide().
  absl::Status Add(const Ingest& documents);
  absl::Status EndOfStream(const std::string& stream);
  // From the next step on; `spec` as of Create(), streams and merge as they are.
  absl::Status Update(const std::string& spec);

  // Decides a step; bytes of the evenpack.v1.Step as the rank would receive it.
  // FAILED_PRECONDITION: it takes more documents. OUT_OF_RANGE: the job is drained.
  // INVALID_ARGUMENT: a rank that there isn't.
  absl::StatusOr<std::string> NextStep(const StepView& view);
  // CheckpointJobResponse.checkpoint of the last step. OUT_OF_RANGE: of another.
  absl::StatusOr<std::string> Checkpoint(uint64_t step) const;

 private:
  LocalJob() = default;
  absl::Status Do(const Command& command);
  absl::Status MarkDurable(uint64_t step);
  absl::StatusOr<uint32_t> FindStream(const std::string& stream) const;

  JobState state_;
  std::shared_ptr<const JobSpec> spec_;
};

}  // namespace evenpack::python

#endif  // EVENPACK_CLIENT_PYTHON_BINDINGS_LOCAL_JOB_H_
