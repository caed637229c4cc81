// Whether a checkpoint that a caller gives, who may have made it, can be told of.
#ifndef EVENPACK_SERVER_SERVICE_CHECKPOINT_CHECK_H_
#define EVENPACK_SERVER_SERVICE_CHECKPOINT_CHECK_H_

#include <string>

#include "absl/status/status.h"

namespace evenpack {

// INVALID_ARGUMENT naming checkpoint: its job's description is no evenpack.v1.JobSpec,
// or one with other streams, whose names then need not be UTF-8. Answers and metrics
// with such a name could be read by nobody. What else may be wrong with it the engine
// says.
absl::Status CheckCheckpoint(const std::string& checkpoint);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_CHECKPOINT_CHECK_H_
