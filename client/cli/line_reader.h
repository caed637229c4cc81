// A file with one record a line, however long it is.
#ifndef EVENPACK_CLIENT_CLI_LINE_READER_H_
#define EVENPACK_CLIENT_CLI_LINE_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/input_file.h"

namespace evenpack {

// Holds one block and one line at a time. Not thread-safe.
class LineReader {
 public:
  // `accepted` is what a line should hold, for messages. A line of more than `longest`
  // bytes is refused as soon as so many were read.
  LineReader(InputFile file, size_t longest, std::string accepted);

  // The next line without blanks and carriage returns around it, valid until the next
  // call; none at the file's end. Empty lines at the very end count for nothing.
  // INVALID_ARGUMENT naming a line that is too long, or empty with others behind it;
  // else as InputFile::Read.
  absl::StatusOr<std::optional<std::string_view>> Next();
  // The latest line as a message about it names it: "line 3".
  std::string LineName() const;
  // INVALID_ARGUMENT: the latest line isn't what it should be.
  absl::Status Refuse() const;

  // Next would not wait for more of the file to be written.
  bool IsReady() const;
  const InputFile& file() const { return file_; }
  InputFile& file() { return file_; }

 private:
  // As Next, with blanks and empty lines.
  absl::StatusOr<std::optional<std::string_view>> NextRaw();
  absl::Status Fill();

  InputFile file_;
  const size_t longest_;
  const std::string accepted_;
  std::string buffer_;
  size_t start_ = 0;    // of what was not given out, within the buffer
  size_t scanned_ = 0;  // no line end from start_ to here
  bool at_end_ = false;
  uint64_t lines_ = 0;
  std::string_view line_;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_LINE_READER_H_
