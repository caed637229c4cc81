// A job whose every event is also taken through its stored form.
#ifndef EVENPACK_TESTS_FUZZ_FUZZ_JOB_H_
#define EVENPACK_TESTS_FUZZ_FUZZ_JOB_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/core/engine/command.h"
#include "server/core/engine/event.h"
#include "server/core/engine/job_state.h"

namespace evenpack::fuzz {

// Whether a few steps of such a job take milliseconds: specs of real size are accepted
// and would leave no time for anything else.
bool IsSmall(const JobSpec& spec);

class FuzzJob {
 public:
  FuzzJob() = default;
  explicit FuzzJob(JobState state) : state_(std::move(state)) {}

  // Decide and, where that is OK, apply what the event's bytes give. Requires that the
  // bytes give the event, that the state after it is consistent, and that a refusal
  // says why.
  absl::StatusOr<Event> Do(const Command& command);

  // Requires that CheckpointAfter succeeds for each kept step, and for no other, with a
  // state that ends there and that can be restored; or says that it doesn't fit.
  void RequireCheckpoints() const;
  // Requires that the state survives its bytes, and is what `snapshot` (a state's
  // bytes, or none) and the events since make.
  void RequireStored(const std::string& snapshot) const;

  const JobState& state() const { return state_; }
  // The events' bytes.
  const std::vector<std::string>& records() const { return records_; }

 private:
  JobState state_;
  std::vector<std::string> records_;
};

}  // namespace evenpack::fuzz

#endif  // EVENPACK_TESTS_FUZZ_FUZZ_JOB_H_
