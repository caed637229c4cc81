// How a client reaches its server.
#ifndef EVENPACK_CLIENT_CPP_CLIENT_OPTIONS_H_
#define EVENPACK_CLIENT_CPP_CLIENT_OPTIONS_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "client/cpp/backoff.h"
#include "client/cpp/retry_news.h"
#include "client/cpp/security.h"
#include "client/cpp/sleeper.h"
#include "server/runtime/clock.h"

namespace evenpack::client {

struct ClientOptions {
  // "HOST:PORT", or a name with a scheme of gRPC's ("unix:/run/evenpack.sock"). Of
  // servers that share a database any will do, or several with commas between them: the
  // next is asked where one is gone, and which of them leads a job they say themselves.
  std::string address = {};
  // TLS, and who the client is; nothing of it by default.
  Security security = Security();
  // Deadline of each attempt of a unary call; above 0, up to kLongestWait. Streams have
  // none.
  std::chrono::milliseconds call_timeout{10'000};
  // Waits between attempts of a unary call, and before a lost stream is opened again. A
  // consumer counts the total from when it has no step left: consumer.h.
  BackoffOptions backoff = {};
  // A connection that was silent for so long is asked whether it is alive, and given up
  // if it doesn't answer within the timeout. Servers refuse pings more often than every
  // 10 seconds, so that is the least accepted. Both up to 2^31 - 1 ms.
  std::chrono::milliseconds keepalive_interval{30'000};
  std::chrono::milliseconds keepalive_timeout{10'000};
  // Of a message, either way. 1 to 2^31 - 1.
  int max_message_bytes = 64 << 20;
  // Told while calls and sessions fail and are tried again. As it is it hears of every
  // attempt; Seldom(...) has it hear of what lasts. May be empty.
  RetryListener on_retry = {};

  // Whether a server has answered a client of these options, or of copies of them.
  // Until then a server's certificate that is refused is a mistake of whoever wrote the
  // options, and calls fail with UNAUTHENTICATED at once; afterwards it may be one that
  // is about to be renewed: UNAVAILABLE, and tried again.
  std::shared_ptr<std::atomic<bool>> was_answered =
      std::make_shared<std::atomic<bool>>(false);

  // What follows is for tests; the defaults are the real ones.
  //
  // By which waits are measured. Must outlive the client and all that it opened.
  const Clock* clock = &Clock::Steady();
  std::shared_ptr<Sleeper> sleeper = Sleeper::Real();
  // Draws from [0, 1); called by one thread at a time, for all sessions. Not set:
  // seeded by the operating system.
  std::function<double()> random = {};
};

// INVALID_ARGUMENT naming the first field that is out of its range.
absl::Status Validate(const ClientOptions& options);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_CLIENT_OPTIONS_H_
