#include "tests/fuzz/fuzz_job.h"

#include "server/core/engine/apply.h"
#include "server/core/engine/checkpoint.h"
#include "server/core/engine/decide.h"
#include "server/core/engine/event_codec.h"
#include "server/core/engine/replay.h"
#include "server/core/engine/state_check.h"
#include "server/core/engine/state_codec.h"
#include "tests/fuzz/require.h"

namespace evenpack::fuzz {

bool IsSmall(const JobSpec& spec) {
  constexpr uint64_t kMostMicroBatches = 256;
  constexpr uint32_t kMostRanks = 64;
  constexpr size_t kMostKnots = 512;
  return spec.workload.attention().values().size() <= kMostKnots &&
         spec.workload.linear().values().size() <= kMostKnots &&
         uint64_t{spec.micro_batches} * BatchesPerWindow(spec) <= kMostMicroBatches &&
         spec.context_parallel <= kMostRanks;
}

absl::StatusOr<Event> FuzzJob::Do(const Command& command) {
  absl::StatusOr<Event> event = Decide(state_, command);
  if (!event.ok()) {
    Require(!event.status().message().empty(), "a refusal says why");
    return event;
  }
  std::string bytes = EncodeEvent(*event);
  Event stored = Required(DecodeEvent(bytes), "an event's bytes are read");
  Require(EncodeEvent(stored) == bytes, "an event survives its bytes");
  Apply(std::move(stored), state_);
  RequireOk(CheckState(state_), "a state is consistent after an event");
  records_.push_back(std::move(bytes));
  return event;
}

void FuzzJob::RequireCheckpoints() const {
  const uint64_t next = state_.position.next_step;
  const uint64_t oldest = state_.checkpoints.front();
  const uint64_t first = oldest == 0 ? 0 : oldest - 1;
  Require(!CheckpointAfter(state_, next).ok(), "no checkpoint of a step not decided");
  Require(first == 0 || !CheckpointAfter(state_, first - 1).ok(),
          "no checkpoint of a step let go");
  for (uint64_t step = first; step < next; ++step) {
    const absl::StatusOr<JobState> found = CheckpointAfter(state_, step);
    // What was accepted after an update may not fit the job as it was before.
    if (absl::IsFailedPrecondition(found.status())) continue;
    const JobState then = Required(found, "a checkpoint");
    Require(then.position.next_step == step + 1, "a checkpoint ends with its step");
    const Step* kept = FindStep(state_, step);
    Require(kept == nullptr || kept->digest == then.position.digest,
            "a checkpoint has its step's digest");
    FuzzJob restored;
    RequireOk(restored.Do(RestoreJob{EncodeState(then)}).status(),
              "a checkpoint is restored");
    Require(restored.state() == then, "a restored job is the checkpoint's");
  }
}

void FuzzJob::RequireStored(const std::string& snapshot) const {
  const std::string bytes = EncodeState(state_);
  const JobState read = Required(DecodeState(bytes), "a state's bytes are read");
  Require(read == state_, "a state survives its bytes");
  Require(EncodeState(read) == bytes, "a state has one form");
  const JobState replayed = Required(Replay(snapshot, 0, records_), "a replay");
  Require(replayed == state_, "a replay gives the state");
}

}  // namespace evenpack::fuzz
