// A file that a program writes whole.
#ifndef EVENPACK_SERVER_RUNTIME_OUTPUT_FILE_H_
#define EVENPACK_SERVER_RUNTIME_OUTPUT_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace evenpack {

// What there was stays until all of the new is written, and keeps its mode and the
// links to it. What is no file, as a device or a pipe, is written into. Not
// thread-safe.
class OutputFile {
 public:
  // Before what is to be written is made: whether it may be, is said now.
  // INVALID_ARGUMENT "FLAG: 'PATH' can't be written: ...".
  static absl::StatusOr<OutputFile> Open(absl::string_view flag,
                                         const std::string& path);
  // What was not committed is gone.
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Once. Errors as Open.
  absl::Status Commit(absl::string_view bytes);

 private:
  OutputFile(absl::string_view flag, std::string path)
      : flag_(flag), path_(std::move(path)) {}

  absl::Status OpenPath();
  absl::Status OpenBeside(const std::string& target, unsigned mode);
  absl::Status Refused() const;

  const std::string flag_;
  const std::string path_;
  // Empty: written into directly.
  std::string unfinished_;
  std::string target_;
  int descriptor_ = -1;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_RUNTIME_OUTPUT_FILE_H_
