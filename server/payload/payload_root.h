// The folder whose files a server reads for its jobs' producers.
#ifndef EVENPACK_SERVER_PAYLOAD_PAYLOAD_ROOT_H_
#define EVENPACK_SERVER_PAYLOAD_PAYLOAD_ROOT_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/document/token_file.h"
#include "server/runtime/file_descriptor.h"

namespace evenpack {

// Of one batch's tokens.
inline constexpr uint64_t kMostPayloadBytes = uint64_t{1} << 30;

// A value; thread-safe. Files are read when they are asked for, and may block.
class PayloadRoot {
 public:
  // There is none: no file is read.
  PayloadRoot() = default;
  // INVALID_ARGUMENT: it is no folder.
  static absl::StatusOr<PayloadRoot> Open(const std::string& folder);

  // The tokens of documents with these lengths, kTokenBytes each, one after another.
  // FAILED_PRECONDITION: there is no folder. INVALID_ARGUMENT naming token_file.path,
  // .token_bytes or .offset[i]: no file within the folder, also by way of links; a
  // number out of its range; a document that does not end within the file.
  // RESOURCE_EXHAUSTED: together more than kMostPayloadBytes. UNAVAILABLE: the system's
  // own error.
  absl::StatusOr<std::string> Read(const TokenFile& file,
                                   std::span<const uint32_t> lengths) const;

 private:
  explicit PayloadRoot(std::string folder) : folder_(std::move(folder)) {}

  // What is there now, by O_PATH.
  absl::StatusOr<FileDescriptor> Find(const std::string& path) const;

  // Absolute, without links; empty: there is none.
  std::string folder_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_PAYLOAD_PAYLOAD_ROOT_H_
