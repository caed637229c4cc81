// How a client reaches its server.
#ifndef EVENPACK_CLIENT_CPP_CLIENT_OPTIONS_H_
#define EVENPACK_CLIENT_CPP_CLIENT_OPTIONS_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "client/cpp/backoff.h"
#include "client/cpp/sleeper.h"
#include "server/runtime/clock.h"

namespace evenpack::client {

struct ClientOptions {
  // "HOST:PORT", or any other name that gRPC resolves ("unix:/run/evenpack.sock").
  std::string address = {};
  // Deadline of each attempt of a unary call; above 0. Streams have none.
  std::chrono::milliseconds call_timeout{10'000};
  // Waits between attempts of a unary call, and before a lost stream is opened again. A
  // consumer counts the total from when it has no step left: consumer.h.
  BackoffOptions backoff = {};
  // A connection that was silent for so long is asked whether it is alive, and given up
  // if it doesn't answer within the timeout. Servers refuse pings more often than every
  // 10 seconds, so that is the least accepted.
  std::chrono::milliseconds keepalive_interval{30'000};
  std::chrono::milliseconds keepalive_timeout{10'000};
  // Of a message, either way. 1 to 2^31 - 1.
  int max_message_bytes = 64 << 20;

  // What follows is for tests; the defaults are the real ones.
  //
  // By which waits are measured. Must outlive the client and all that it opened.
  const Clock* clock = &Clock::Steady();
  std::shared_ptr<Sleeper> sleeper = Sleeper::Real();
  // Draws from [0, 1); called by one thread at a time. Not set: seeded by the operating
  // system.
  std::function<double()> random = {};
};

// INVALID_ARGUMENT naming the first field that is out of its range.
absl::Status Validate(const ClientOptions& options);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_CLIENT_OPTIONS_H_
