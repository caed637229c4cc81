// evenpack.v1.DocumentBatch as the engine's command.
#ifndef EVENPACK_SERVER_SERVICE_BATCH_CONVERSION_H_
#define EVENPACK_SERVER_SERVICE_BATCH_CONVERSION_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/core/engine/command.h"

namespace evenpack::v1 {
class DocumentBatch;
}

namespace evenpack {

// INVALID_ARGUMENT for a batch without a document, or with more than
// kMaxBatchDocuments. The engine says whether the columns fit each other and the job.
absl::StatusOr<Ingest> FromProto(const std::string& stream,
                                 const v1::DocumentBatch& from);

// `status` with the engine's name of a batch's column turned into the API's.
absl::Status InBatchNames(const absl::Status& status);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_BATCH_CONVERSION_H_
