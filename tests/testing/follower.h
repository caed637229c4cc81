// A rank that takes the steps of a job as a call of StreamSteps does.
#ifndef EVENPACK_TESTS_TESTING_FOLLOWER_H_
#define EVENPACK_TESTS_TESTING_FOLLOWER_H_

#include <memory>
#include <vector>

#include "server/control/job.h"
#include "server/runtime/mutex.h"

namespace evenpack::testing {

// Not thread-safe; Wake comes from other threads.
class Follower {
 public:
  // Where the job refuses it, status() says why and nothing else is to be called.
  explicit Follower(std::shared_ptr<Job> job, const SubscribeRequest& request = {});
  // Unsubscribes.
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  const absl::Status& status() const { return subscribed_.status(); }
  const Subscribed& subscribed() const { return *subscribed_; }
  const std::shared_ptr<Subscription>& subscription() const {
    return subscribed_->subscription;
  }

  // What there is to do now, perhaps nothing.
  NextMessage Next() { return job_->Next(*subscription()); }
  // Waits until there is something; never NothingYet.
  NextMessage Take();
  // Take(), which must be a step, and marks it received.
  std::shared_ptr<const PublishedStep> TakeStep();
  // Take(), which must be the end.
  absl::Status TakeEnd();
  // Steps until the job says that it is drained.
  std::vector<std::shared_ptr<const PublishedStep>> TakeAll();
  absl::Status Received(uint64_t step) { return job_->Received(*subscription(), step); }

  int wakes() const { return bell_->wakes(); }
  // One that finds a step before it is woken for it is not woken for it.
  void WaitUntilWoken(int wakes) { bell_->WaitUntil(wakes); }

 private:
  // Counts how often it is woken.
  class Bell final : public Subscriber {
   public:
    void Wake() override;
    void WaitUntil(int wakes);
    int wakes() const;

   private:
    mutable Mutex mutex_;
    CondVar changed_;
    int wakes_ EVENPACK_GUARDED_BY(mutex_) = 0;
  };

  const std::shared_ptr<Job> job_;
  const std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
  absl::StatusOr<Subscribed> subscribed_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_FOLLOWER_H_
