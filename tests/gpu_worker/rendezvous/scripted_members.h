// Members of groups whose news a test gives.
#ifndef EVENPACK_TESTS_GPU_WORKER_RENDEZVOUS_SCRIPTED_MEMBERS_H_
#define EVENPACK_TESTS_GPU_WORKER_RENDEZVOUS_SCRIPTED_MEMBERS_H_

#include <cstddef>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cpp/group_member.h"
#include "server/runtime/mutex.h"

namespace evenpack::testing {

// Gives the news of a test, one for each report, and ends after so many reports.
class ScriptedMember final : public client::GroupMember {
 public:
  using Reports = std::vector<client::MemberState>;

  ScriptedMember(std::vector<client::GroupNews> news, size_t last_report,
                 std::shared_ptr<Reports> reports)
      : news_(std::move(news)),
        last_report_(last_report),
        reports_(std::move(reports)) {}
  absl::StatusOr<client::GroupNews> Next() override {
    MutexLock lock(mutex_);
    const size_t due = next_ < news_.size() ? next_ + 1 : last_report_;
    while (reported_ < due && !cancelled_) changed_.Wait(mutex_);
    if (cancelled_ || next_ == news_.size()) return absl::CancelledError("the end");
    return news_[next_++];
  }
  void Report(const client::MemberState& state) override {
    MutexLock lock(mutex_);
    reports_->push_back(state);
    ++reported_;
    changed_.SignalAll();
  }
  void Cancel() override {
    MutexLock lock(mutex_);
    cancelled_ = true;
    changed_.SignalAll();
  }

 private:
  const std::vector<client::GroupNews> news_;
  const size_t last_report_;
  const std::shared_ptr<Reports> reports_;
  Mutex mutex_;
  CondVar changed_;
  size_t next_ EVENPACK_GUARDED_BY(mutex_) = 0;
  size_t reported_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool cancelled_ EVENPACK_GUARDED_BY(mutex_) = false;
};

// Gives up an epoch as soon as it is asked what comes next while this rank connects.
class MemberOfALostPeer final : public client::GroupMember {
 public:
  using Kind = client::GroupNews::Kind;

  explicit MemberOfALostPeer(std::promise<client::MemberState>& answer)
      : answer_(answer) {}
  absl::StatusOr<client::GroupNews> Next() override {
    switch (++asked_) {
      case 1:
        return client::GroupNews{Kind::kConnect, 1, {"h:1", "peer"}};
      case 2:
        return client::GroupNews{Kind::kGiveUp, 1, {}};
      default:
        cancelled_.get_future().wait();
        return absl::CancelledError("the end");
    }
  }
  void Report(const client::MemberState& state) override {
    if (++reported_ == 2) answer_.set_value(state);
  }
  void Cancel() override { cancelled_.set_value(); }

 private:
  std::promise<client::MemberState>& answer_;
  std::promise<void> cancelled_;
  int asked_ = 0;
  int reported_ = 0;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_RENDEZVOUS_SCRIPTED_MEMBERS_H_
