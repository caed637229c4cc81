// A job without a server: its steps, and the seats of its groups.
#ifndef EVENPACK_TESTS_GPU_WORKER_SIDECAR_PRETENDED_JOB_H_
#define EVENPACK_TESTS_GPU_WORKER_SIDECAR_PRETENDED_JOB_H_

#include <gmock/gmock.h>

#include <memory>
#include <optional>

#include "client/cpp/client.h"
#include "client/cpp/mocks/mock_connection.h"
#include "server/runtime/mutex.h"
#include "tests/client/cpp/test_history.h"
#include "tests/gpu_worker/rendezvous/table_member.h"

namespace evenpack::testing {

// Of groups of two ranks. Thread-safe.
class PretendedJob {
 public:
  explicit PretendedJob(uint64_t steps) : history_(steps) {
    ON_CALL(*connection_, OpenConsumer)
        .WillByDefault([this](const client::ConsumerOptions& options)
                           -> absl::StatusOr<std::unique_ptr<client::Consumer>> {
          if (options.job != "job") return absl::NotFoundError("job: no such job");
          return std::make_unique<FollowedSteps>(*this, options);
        });
    ON_CALL(*connection_, JoinGroup)
        .WillByDefault([this](const client::GroupOptions& options) {
          return std::make_unique<TableMember>(
              table_, GroupSeat{options.dp_rank, options.cp_size, options.cp_rank,
                                options.member});
        });
  }

  client::Client client() { return client::Client(connection_); }
  client::RankStep Step(uint64_t index, uint32_t dp_rank = 0) const {
    const auto spec = std::make_shared<const v1::JobSpec>(history_.spec());
    return client::RankStep::FromMessage(history_.Step(index, dp_rank).step(), spec)
        .value();
  }
  // From here on nobody hears from the server; until then all do.
  void GoAway() {
    MutexLock lock(mutex_);
    away_ = true;
  }
  // Consumers that were closed rather than cancelled.
  int closed() {
    MutexLock lock(mutex_);
    return closed_;
  }
  void AwaitSomebodyWaiting() {
    MutexLock lock(mutex_);
    while (waiting_ == 0) changed_.Wait(mutex_);
  }

 private:
  class FollowedSteps final : public ::testing::NiceMock<client::MockConsumer> {
   public:
    FollowedSteps(PretendedJob& job, const client::ConsumerOptions& options)
        : job_(job), dp_rank_(options.dp_rank), next_(options.from_step.value_or(0)) {}

    absl::StatusOr<client::Subscription> AwaitSubscription() override {
      MutexLock lock(job_.mutex_);
      ++job_.waiting_;
      job_.changed_.SignalAll();
      while (job_.away_ && !cancelled_) job_.changed_.Wait(job_.mutex_);
      --job_.waiting_;
      if (cancelled_) return absl::CancelledError("cancelled");
      client::Subscription subscription;
      subscription.spec = std::make_shared<const v1::JobSpec>(job_.history_.spec());
      return subscription;
    }
    absl::StatusOr<std::optional<client::RankStep>> Next() override {
      MutexLock lock(job_.mutex_);
      if (cancelled_) return absl::CancelledError("cancelled");
      if (next_ == job_.history_.size()) return std::optional<client::RankStep>();
      return std::optional<client::RankStep>(job_.Step(next_++, dp_rank_));
    }
    absl::Status Close() override {
      MutexLock lock(job_.mutex_);
      ++job_.closed_;
      cancelled_ = true;
      job_.changed_.SignalAll();
      return absl::OkStatus();
    }
    void Cancel() override {
      MutexLock lock(job_.mutex_);
      cancelled_ = true;
      job_.changed_.SignalAll();
    }

   private:
    PretendedJob& job_;
    const uint32_t dp_rank_;
    // Guarded by the job's mutex.
    uint64_t next_;
    bool cancelled_ = false;
  };

  const TestHistory history_;
  GroupTable table_;
  const std::shared_ptr<::testing::NiceMock<client::MockConnection>> connection_ =
      std::make_shared<::testing::NiceMock<client::MockConnection>>();

  Mutex mutex_;
  CondVar changed_;
  bool away_ EVENPACK_GUARDED_BY(mutex_) = false;
  int waiting_ EVENPACK_GUARDED_BY(mutex_) = 0;
  int closed_ EVENPACK_GUARDED_BY(mutex_) = 0;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_SIDECAR_PRETENDED_JOB_H_
