// The token that goes with a call.
#ifndef EVENPACK_CLIENT_CPP_TOKEN_SOURCE_H_
#define EVENPACK_CLIENT_CPP_TOKEN_SOURCE_H_

#include <string>

#include "server/runtime/mutex.h"

namespace evenpack::client {

// A file that whoever renews tokens writes to. Thread-safe.
class TokenSource {
 public:
  explicit TokenSource(std::string file);
  TokenSource(const TokenSource&) = delete;
  TokenSource& operator=(const TokenSource&) = delete;

  // What the file has now (security.h: ReadToken). Where it has none, as while it is
  // being written, what it had last; empty if it never had one.
  std::string Current();

 private:
  const std::string file_;

  Mutex mutex_;
  std::string last_ EVENPACK_GUARDED_BY(mutex_);
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_TOKEN_SOURCE_H_
