#include "tests/gpu_worker/sidecar/pretended_job.h"

#include <gmock/gmock.h>

#include <optional>
#include <utility>

#include "client/cpp/mocks/mock_connection.h"

namespace evenpack::testing {

class PretendedJob::FollowedSteps final
    : public ::testing::NiceMock<client::MockConsumer> {
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

PretendedJob::PretendedJob(uint64_t steps) : history_(steps) {
  auto connection = std::make_shared<::testing::NiceMock<client::MockConnection>>();
  ON_CALL(*connection, OpenConsumer)
      .WillByDefault([this](const client::ConsumerOptions& options)
                         -> absl::StatusOr<std::unique_ptr<client::Consumer>> {
        if (options.job != "job") return absl::NotFoundError("job: no such job");
        return std::make_unique<FollowedSteps>(*this, options);
      });
  ON_CALL(*connection, JoinGroup)
      .WillByDefault([this](const client::GroupOptions& options) {
        return std::make_unique<TableMember>(
            table_, GroupSeat{options.dp_rank, options.cp_size, options.cp_rank,
                              options.member});
      });
  connection_ = std::move(connection);
}

PretendedJob::~PretendedJob() = default;

client::Client PretendedJob::client() { return client::Client(connection_); }

client::RankStep PretendedJob::Step(uint64_t index, uint32_t dp_rank) const {
  const auto spec = std::make_shared<const v1::JobSpec>(history_.spec());
  return client::RankStep::FromMessage(history_.Step(index, dp_rank).step(), spec)
      .value();
}

void PretendedJob::GoAway() {
  MutexLock lock(mutex_);
  away_ = true;
}

int PretendedJob::closed() {
  MutexLock lock(mutex_);
  return closed_;
}

void PretendedJob::AwaitSomebodyWaiting() {
  MutexLock lock(mutex_);
  while (waiting_ == 0) changed_.Wait(mutex_);
}

}  // namespace evenpack::testing
