// A file, or standard input, that is read from its beginning to its end.
#ifndef EVENPACK_CLIENT_CLI_INPUT_FILE_H_
#define EVENPACK_CLIENT_CLI_INPUT_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/interrupt.h"

namespace evenpack {

// Not thread-safe.
class InputFile {
 public:
  // `flag` is what the user named the file with, `accepted` what it should hold: both
  // are for messages. Standard input where `path` is "-".
  // INVALID_ARGUMENT naming flag and path where it can't be opened.
  static absl::StatusOr<InputFile> Open(const std::string& flag,
                                        const std::string& path,
                                        const std::string& accepted);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  // From now on Read stops waiting where `interrupt`, which must outlive the file, is
  // requested.
  void StopOn(const Interrupt& interrupt) { interrupt_ = &interrupt; }

  // Reads up to `size` bytes, waiting for the first: how many, 0 at the end.
  // INVALID_ARGUMENT where the file can't be read, CANCELLED if interrupted.
  absl::StatusOr<size_t> Read(char* buffer, size_t size);
  // Read would not wait.
  bool IsReady() const;

  // Bytes that were read.
  size_t position() const { return position_; }
  // Bytes of a regular file; 0 for anything else.
  size_t size() const;

 private:
  InputFile(int descriptor, bool owned, std::string flag, std::string path,
            std::string accepted);
  absl::Status Unreadable(int error) const;

  int descriptor_;
  bool owned_;
  std::string flag_;
  std::string path_;
  std::string accepted_;
  const Interrupt* interrupt_ = nullptr;
  size_t position_ = 0;
};

// The content of a file as InputFile::Open names it. INVALID_ARGUMENT also where it
// has more than `most` bytes.
absl::StatusOr<std::string> ReadWholeFile(const std::string& flag,
                                          const std::string& path,
                                          const std::string& accepted, size_t most);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_INPUT_FILE_H_
