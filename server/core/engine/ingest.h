// Acceptance of documents and of a stream's end.
#ifndef EVENPACK_SERVER_CORE_ENGINE_INGEST_H_
#define EVENPACK_SERVER_CORE_ENGINE_INGEST_H_

#include "absl/status/statusor.h"
#include "server/core/engine/command.h"
#include "server/core/engine/event.h"
#include "server/core/engine/job_state.h"

namespace evenpack {

// Errors as in decide.h.
absl::StatusOr<DocumentsAccepted> DecideIngest(const JobState& state,
                                               const Ingest& command);
absl::StatusOr<StreamEnded> DecideEndOfStream(const JobState& state,
                                              const EndOfStream& command);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_ENGINE_INGEST_H_
