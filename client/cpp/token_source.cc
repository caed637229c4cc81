#include "client/cpp/token_source.h"

#include <utility>

#include "absl/status/statusor.h"
#include "client/cpp/security.h"

namespace evenpack::client {

TokenSource::TokenSource(std::string file) : file_(std::move(file)) {}

// Whether a file has changed can't be told from its times, which are coarse; reading it
// takes microseconds.
std::string TokenSource::Current() {
  absl::StatusOr<std::string> token = ReadToken(file_);
  MutexLock lock(mutex_);
  if (token.ok()) last_ = *std::move(token);
  return last_;
}

}  // namespace evenpack::client
