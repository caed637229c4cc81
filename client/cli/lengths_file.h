// Document lengths as text: one whole number of tokens a line.
#ifndef EVENPACK_CLIENT_CLI_LENGTHS_FILE_H_
#define EVENPACK_CLIENT_CLI_LENGTHS_FILE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace evenpack {

// The lengths in `text`, element i from line i + 1. Accepted a line: decimal digits, 1
// to kMaxDocumentLength, with blanks and a carriage return around them. Empty lines at
// the very end count for nothing.
// INVALID_ARGUMENT naming the line and what it holds; where there is no document.
absl::StatusOr<std::vector<uint32_t>> ParseLengths(std::string_view text);

// ParseLengths of a file's content, or of standard input's where `path` is "-".
// INVALID_ARGUMENT also where the file can't be read.
absl::StatusOr<std::vector<uint32_t>> ReadLengths(const std::string& path);

// INVALID_ARGUMENT naming the line of the first length above `max_length`.
absl::Status CheckMaxLength(std::span<const uint32_t> lengths, uint32_t max_length);

// ReadLengths, then CheckMaxLength unless longer documents are cut.
absl::StatusOr<std::vector<uint32_t>> ReadLengths(const std::string& path,
                                                  uint32_t max_length,
                                                  bool split_overlong);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_LENGTHS_FILE_H_
