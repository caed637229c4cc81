// Ranges of documents as they are typed.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_DOCUMENT_RANGES_H_
#define EVENPACK_CLIENT_CLI_ONLINE_DOCUMENT_RANGES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack {

// "STREAM:FIRST:COUNT", or several with commas between them: COUNT documents of the
// stream from sequence number FIRST on. A stream's name may have colons, and commas
// that no two numbers are before: "a,b:5:10" is of the stream "a,b". INVALID_ARGUMENT,
// naming `flag` and the range.
absl::StatusOr<std::vector<v1::DocumentRange>> ReadDocumentRanges(
    const std::string& flag, const std::string& text);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_DOCUMENT_RANGES_H_
