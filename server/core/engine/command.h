// What a job can be asked to do. Decide() turns a command into an event or refuses it.
#ifndef EVENPACK_SERVER_CORE_ENGINE_COMMAND_H_
#define EVENPACK_SERVER_CORE_ENGINE_COMMAND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "server/core/document/token_file.h"
#include "server/core/engine/job_spec.h"

namespace evenpack {

struct CreateJob {
  JobSpec spec;
  // JobState::lineage.
  uint64_t lineage = 0;
};

// Reconfigures the job from step `from_step` on: decided steps from there are
// withdrawn, their documents wait again, and a new shape epoch starts.
struct UpdateJob {
  // Above the last durable step, at most the next step to be decided. Not set: that
  // one, where no rank of a step that isn't durable yet is lost by it.
  std::optional<uint64_t> from_step;
  // The whole new spec; streams and merge as they are.
  JobSpec spec;
};

// Documents [first_sequence, first_sequence + documents) of a stream, accepted or not
// yet.
struct DocumentRange {
  std::string stream;
  uint64_t first_sequence = 0;
  // At least 1.
  uint64_t documents = 0;
};

// Takes the job back to where it was before step `from_step`, which is at least the
// oldest checkpoint that is kept and at most the next step to be decided. Durable marks
// beyond it are taken back with the steps; documents stay accepted. Without a spec and
// a skip the steps come out the same again, but those of kFixedGreedy with a window of
// several batches where the job had calibrated its costs since: they are packed anew.
struct RewindJob {
  uint64_t from_step = 0;
  // The spec from there on. None: the one that from_step was decided under.
  std::optional<JobSpec> spec;
  // As SkipDocuments.
  std::vector<DocumentRange> skip;
};

// Takes the job back to a checkpoint of its own lineage: one of its own, or of a job
// that it was forked or restored from. Where the job still has the checkpoint's step,
// this is RewindJob. Otherwise the job becomes what the checkpoint has: documents that
// were accepted since are to be sent again.
struct RewindToCheckpoint {
  // EncodeState of CheckpointAfter.
  std::string checkpoint;
  // As SkipDocuments.
  std::vector<DocumentRange> skip;
};

// Passes documents over: none of them is in a step from `from_step` on, which is above
// the last durable one and at most the next to be decided. What earlier steps have of
// them stays there. A skip holds for the job's life, whatever is rewound later.
struct SkipDocuments {
  uint64_t from_step = 0;
  // At least one.
  std::vector<DocumentRange> skip;
};

// Steps from the next one on are decided with other costs. Nothing else changes: no
// step is withdrawn, what waits stays where it is, and no new epoch starts.
struct CalibrateCost {
  // For the max_length and the micro_batches of the job.
  WorkloadTable workload;
  // JobSpec::description with what led to it.
  std::string description;
};

// Documents of one stream, in columns: accepted whole or not at all.
struct Ingest {
  std::string stream;
  // Sequence number of the first document. What was accepted before is trimmed off if
  // it is the same; a gap is refused.
  uint64_t first_sequence = 0;
  // Tokens, 1 to what LongestAccepted (job_layout.h) has.
  std::vector<uint32_t> lengths;
  // Each of these is empty or as long as `lengths`. Defaults: the sequence number, the
  // length, 0.
  std::vector<uint64_t> ids;
  std::vector<uint32_t> loss_tokens;
  std::vector<uint32_t> sources;
  // What the engine does not read (server/payload): their tokens, or where these lie.
  std::string token_ids;
  std::optional<TokenFile> token_file;
};

struct EndOfStream {
  std::string stream;
  // How many documents the stream had: all of them must have been accepted.
  uint64_t documents = 0;
};

// Decides the next step, where there are documents for one.
struct FormStep {};

// A DP rank has made all steps up to and including `step` durable. Cumulative; a mark
// at or below the rank's present one changes nothing.
struct Acknowledge {
  uint32_t data_parallel_rank = 0;
  uint64_t step = 0;
  // Step::epoch of the step as the rank received it: a mark for a step that was
  // withdrawn and formed anew since is refused.
  uint64_t epoch = 0;
};

// Creates the job as a checkpoint has it.
struct RestoreJob {
  // EncodeState of CheckpointAfter.
  std::string checkpoint;
};

using Command = std::variant<CreateJob, UpdateJob, Ingest, EndOfStream, FormStep,
                             Acknowledge, RestoreJob, RewindJob, RewindToCheckpoint,
                             SkipDocuments, CalibrateCost>;

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_COMMAND_H_
