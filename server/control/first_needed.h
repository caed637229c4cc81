// From which document on a stream's tokens are needed.
#ifndef EVENPACK_SERVER_CONTROL_FIRST_NEEDED_H_
#define EVENPACK_SERVER_CONTROL_FIRST_NEEDED_H_

#include <cstdint>
#include <vector>

#include "server/core/engine/job_state.h"

namespace evenpack {

// By stream: the first document that isn't admitted, that waits, or that is in a step
// which was not let go; the number of the next one where there is none.
std::vector<uint64_t> FirstNeeded(const JobState& state);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_FIRST_NEEDED_H_
