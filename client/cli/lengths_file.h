// Document lengths as text: one whole number of tokens a line.
#ifndef EVENPACK_CLIENT_CLI_LENGTHS_FILE_H_
#define EVENPACK_CLIENT_CLI_LENGTHS_FILE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/line_reader.h"

namespace evenpack {

// Reads lengths line by line: from a file of any size in little memory.
class LengthsReader {
 public:
  // The file that --lengths names, or standard input where `path` is "-".
  // INVALID_ARGUMENT where it can't be opened.
  static absl::StatusOr<LengthsReader> Open(const std::string& path);

  // The next line's length, decimal digits of 1 to kMaxDocumentLength; none at the end.
  // INVALID_ARGUMENT naming the line and what it holds; else as LineReader::Next.
  absl::StatusOr<std::optional<uint32_t>> Next();

  LineReader& lines() { return lines_; }
  const LineReader& lines() const { return lines_; }

 private:
  explicit LengthsReader(LineReader lines) : lines_(std::move(lines)) {}

  LineReader lines_;
};

// All lengths of a file, element i from line i + 1. Errors as LengthsReader's;
// INVALID_ARGUMENT also where there is no document.
absl::StatusOr<std::vector<uint32_t>> ReadLengths(const std::string& path);

// INVALID_ARGUMENT naming the line of the first length above `most`; `accepted` says
// what is accepted.
absl::Status CheckLengths(std::span<const uint32_t> lengths, uint32_t most,
                          const std::string& accepted);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_LENGTHS_FILE_H_
