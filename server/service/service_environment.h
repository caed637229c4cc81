// What every handler of the service uses.
#ifndef EVENPACK_SERVER_SERVICE_SERVICE_ENVIRONMENT_H_
#define EVENPACK_SERVER_SERVICE_SERVICE_ENVIRONMENT_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "server/control/cost_profile_registry.h"
#include "server/control/directory.h"
#include "server/control/job_registry.h"
#include "server/service/call_quota.h"
#include "server/service/connect_messages.h"
#include "server/service/cost_profile_conversion.h"
#include "server/service/live_calls.h"
#include "server/service/step_messages.h"

namespace evenpack {

// Thread-safe.
class ErrorCounts {
 public:
  void Count(const absl::Status& status) {
    const auto code = static_cast<size_t>(status.code());
    if (code < by_code_.size()) ++by_code_[code];
  }
  std::array<uint64_t, 17> Figures() const {
    std::array<uint64_t, 17> figures{};
    for (size_t code = 1; code < figures.size(); ++code) figures[code] = by_code_[code];
    return figures;
  }

 private:
  std::array<std::atomic<uint64_t>, 17> by_code_{};
};

class AccessControl;
class WorkerPool;

// All of it outlives the service's calls.
struct ServiceEnvironment {
  JobRegistry& jobs;
  StreamCalls& calls;
  StepMessages& messages;
  ConnectMessages& connects;
  ErrorCounts& errors;
  CostProfileRegistry& profiles;
  CallQuotas& quotas;
  // Null: everyone may do everything.
  AccessControl* access = nullptr;
  // Null where no other server has the store.
  Directory* directory = nullptr;
  // Threads that read files of token ids, whose disk may hang: those that call here are
  // the transport's. Null: no file is read.
  WorkerPool* file_readers = nullptr;
  // Of an answer; 0: any.
  uint64_t max_message_bytes = 0;
};

// Looks in the server's profiles, which must outlive it.
ProfileFinder FindProfileIn(const ServiceEnvironment& environment);

// UNAVAILABLE: what a call ends with that the server drains.
absl::Status Draining();
// UNAVAILABLE: what a request ends with that comes before the jobs were read.
absl::Status Starting();
// RESOURCE_EXHAUSTED: an answer that is above the environment's max_message_bytes, with
// the name of its message.
absl::Status AnswerTooLarge(const std::string& message, uint64_t bytes, uint64_t limit);
// RESOURCE_EXHAUSTED: as many calls of a kind as may be.
absl::Status TooManyCalls(const LiveCalls& calls);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_SERVICE_ENVIRONMENT_H_
