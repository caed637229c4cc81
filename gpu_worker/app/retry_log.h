// What a worker's log has of a packing server that it waits for.
#ifndef EVENPACK_GPU_WORKER_APP_RETRY_LOG_H_
#define EVENPACK_GPU_WORKER_APP_RETRY_LOG_H_

#include <chrono>
#include <string>

#include "client/cpp/retry_news.h"
#include "server/runtime/clock.h"

namespace evenpack::worker {

// A worker tries every few seconds, for days maybe: a line at once, and then seldom.
inline constexpr client::RetryPace kWorkerRetryPace = {
    .quiet = std::chrono::seconds(0), .between = std::chrono::minutes(5)};

// `server` as the worker was given it. `clock` outlives it.
client::RetryListener LogRetries(const std::string& server,
                                 const Clock& clock = Clock::Steady());

}  // namespace evenpack::worker

#endif  // EVENPACK_GPU_WORKER_APP_RETRY_LOG_H_
