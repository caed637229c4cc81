// A job without a server: its steps, and the seats of its groups.
#ifndef EVENPACK_TESTS_GPU_WORKER_SIDECAR_PRETENDED_JOB_H_
#define EVENPACK_TESTS_GPU_WORKER_SIDECAR_PRETENDED_JOB_H_

#include <cstdint>
#include <memory>

#include "client/cpp/client.h"
#include "client/cpp/connection.h"
#include "server/runtime/mutex.h"
#include "tests/client/cpp/test_history.h"
#include "tests/gpu_worker/rendezvous/table_member.h"

namespace evenpack::testing {

// Of groups of two ranks. Thread-safe.
class PretendedJob {
 public:
  explicit PretendedJob(uint64_t steps);
  ~PretendedJob();
  PretendedJob(const PretendedJob&) = delete;
  PretendedJob& operator=(const PretendedJob&) = delete;

  client::Client client();
  client::RankStep Step(uint64_t index, uint32_t dp_rank = 0) const;
  // From here on nobody hears from the server; until then all do.
  void GoAway();
  // Consumers that were closed rather than cancelled.
  int closed();
  void AwaitSomebodyWaiting();

 private:
  class FollowedSteps;

  const TestHistory history_;
  GroupTable table_;
  std::shared_ptr<client::Connection> connection_;

  Mutex mutex_;
  CondVar changed_;
  bool away_ EVENPACK_GUARDED_BY(mutex_) = false;
  int waiting_ EVENPACK_GUARDED_BY(mutex_) = 0;
  int closed_ EVENPACK_GUARDED_BY(mutex_) = 0;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_SIDECAR_PRETENDED_JOB_H_
