// Where a program's text goes.
#ifndef EVENPACK_CLIENT_CLI_OUTPUT_H_
#define EVENPACK_CLIENT_CLI_OUTPUT_H_

#include <atomic>
#include <cstdio>
#include <string_view>

namespace evenpack {

// Not thread-safe unless it says so.
class Output {
 public:
  virtual ~Output() = default;

  // Writes all of `text` at once. False where it can't be, now and from then on:
  // whoever goes on working only to write can end.
  virtual bool Write(std::string_view text) = 0;
};

// Thread-safe.
class FileOutput : public Output {
 public:
  // `file` must outlive the object.
  explicit FileOutput(std::FILE* file) : file_(file) {}

  bool Write(std::string_view text) override;
  // The errno of what failed first, 0 where nothing did. EPIPE: whoever reads has
  // enough, as in `evenpackctl ... | head`.
  int error() const { return error_; }

 private:
  std::FILE* const file_;
  std::atomic<int> error_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_OUTPUT_H_
