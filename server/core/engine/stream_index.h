// Streams by name.
#ifndef EVENPACK_SERVER_CORE_ENGINE_STREAM_INDEX_H_
#define EVENPACK_SERVER_CORE_ENGINE_STREAM_INDEX_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "server/core/engine/job_spec.h"

namespace evenpack {

// Index among the job's streams. NOT_FOUND, naming those that there are.
absl::StatusOr<uint32_t> FindStream(const JobSpec& spec, const std::string& name);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_STREAM_INDEX_H_
