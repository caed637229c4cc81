// Whether the ranks of a group that has formed anew are at the same step, and whether
// that is to be done again.
//
//   rank 0:  step 7 begins ... EndStep(7) | step 8 begins
//   rank 1:  step 7 begins ... EndStep(7) x lost its peers before it heard of them
//
// Nobody leaves a step before all have executed it (EndStep), so that two ranks are
// never further apart than rank 0 and rank 1 here: of a rank that is in step 8, and has
// not jumped there, rank 1 learns that all have executed step 7. A rank that is still
// within step 7 has all of them do it again.
#ifndef EVENPACK_GPU_WORKER_STEPS_STEP_AGREEMENT_H_
#define EVENPACK_GPU_WORKER_STEPS_STEP_AGREEMENT_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_worker/communicator/communicator.h"
#include "gpu_worker/device/device.h"

namespace evenpack::worker {

struct StepProgress {
  uint64_t step = 0;
  // All of it, so that it isn't done again unless a peer has to.
  bool executed = false;
  // The rank has begun it and not executed the one before, though another: so nothing
  // follows from its being there.
  bool jumped = false;
  // Stands for all that it has exchanged in it; 0 where nobody compares that.
  uint64_t exchanged = 0;

  friend bool operator==(const StepProgress&, const StepProgress&) = default;
};

enum class StepVerdict : uint8_t {
  kExecute,  // the step, or what is left of it
  kLeave,    // the step: all ranks have executed it
  kRedo,     // the step from its beginning, which this rank had executed
};

// What `rank` does in a group that has formed anew, by the progress of all.
// FAILED_PRECONDITION naming a rank that it can't be together with: it was restarted
// from another checkpoint.
absl::StatusOr<StepVerdict> JudgeProgress(uint32_t rank,
                                          std::span<const StepProgress> ranks);

// Of ranks that end a step in the group in which they have begun it: there none is a
// step ahead. FAILED_PRECONDITION naming a rank that ends another step, or has taken
// part in other exchanges, so that rows may have been taken for what they weren't.
absl::Status CheckTogether(uint32_t rank, std::span<const StepProgress> ranks);

// The progress of all ranks, this one's among them, once each has told its own, and so
// has what was exchanged before. Errors as Transfer::WaitForArrival, and those of the
// communicator's device, which abort the group.
absl::StatusOr<std::vector<StepProgress>> ExchangeProgress(Communicator& communicator,
                                                           Device& device,
                                                           const StepProgress& mine);

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_STEPS_STEP_AGREEMENT_H_
