#include "client/cli/output.h"

#include <cerrno>

namespace evenpack {

bool FileOutput::Write(std::string_view text) {
  if (error_ != 0) return false;
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() ||
      std::fflush(file_) != 0) {
    int none = 0;
    error_.compare_exchange_strong(none, errno);
  }
  return error_ == 0;
}

}  // namespace evenpack
