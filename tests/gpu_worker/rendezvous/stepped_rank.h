// A rank of a group whose rendezvous goes on by one step when a test says so, and rests
// in between: so that a test decides what comes before what.
#ifndef EVENPACK_TESTS_GPU_WORKER_RENDEZVOUS_STEPPED_RANK_H_
#define EVENPACK_TESTS_GPU_WORKER_RENDEZVOUS_STEPPED_RANK_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/group_mailbox.h"
#include "client/cpp/group_member.h"
#include "gpu_worker/rendezvous/group_rendezvous.h"
#include "server/runtime/mutex.h"

namespace evenpack::testing {

// Used by one thread, that of the test. The rendezvous' own runs only while that waits
// for it.
class SteppedRank {
 public:
  using Addresses = std::vector<std::string>;
  using OnReport = std::function<void(const client::MemberState&)>;

  // `name` is that of no other. `on_report` is called with what it says of itself.
  SteppedRank(std::string name, OnReport on_report)
      : name_(std::move(name)),
        on_report_(std::move(on_report)),
        rendezvous_(
            std::make_unique<Member>(*this), [this] { return Open(); },
            worker::kDefaultPatience,
            /*farewell=*/std::chrono::nanoseconds(0)) {
    AwaitRest();
  }
  SteppedRank(const SteppedRank&) = delete;
  SteppedRank& operator=(const SteppedRank&) = delete;

  const std::string& name() const { return name_; }
  // As the session of a client has it.
  client::GroupMailbox& mailbox() { return mailbox_; }
  worker::GroupStanding standing() const { return rendezvous_.standing(); }
  // Those to which it is connected in its epoch, or was.
  const Addresses& peers() const { return peers_; }
  // While it connects.
  const std::optional<Addresses>& connecting() const { return connecting_; }
  // What an endpoint was asked to connect to without being among it.
  bool misled() const { return misled_; }

  // Takes the next news, if there is any and it doesn't connect.
  bool TakeNews() {
    if (connecting_.has_value()) return false;
    std::optional<client::GroupNews> news = mailbox_.Take();
    if (!news.has_value()) return false;
    Go([&] { given_ = *std::move(news); });
    return true;
  }
  // How connecting goes.
  void Resolve(const absl::Status& outcome) {
    if (outcome.ok()) peers_ = *connecting_;
    Go([&] { outcome_ = outcome; });
  }
  // An exchange of its epoch fails.
  void Lose() { rendezvous_.Lose(standing().epoch, absl::UnavailableError("a cable")); }

 private:
  // Its methods are called by the rendezvous, while it holds locks of its own.
  class Member final : public client::GroupMember {
   public:
    explicit Member(SteppedRank& rank) : rank_(rank) {}
    absl::StatusOr<client::GroupNews> Next() override { return rank_.AwaitNews(); }
    void Report(const client::MemberState& state) override {
      rank_.mailbox_.Report(state);
      rank_.on_report_(state);
    }
    void Cancel() override { rank_.Cancel(); }

   private:
    SteppedRank& rank_;
  };

  class MetEndpoint final : public worker::Endpoint {
   public:
    MetEndpoint(SteppedRank& rank, std::string address)
        : rank_(rank), address_(std::move(address)) {}
    const std::string& address() const override { return address_; }
    absl::StatusOr<std::unique_ptr<worker::Communicator>> Connect(
        const Addresses& addresses) override {
      if (std::find(addresses.begin(), addresses.end(), address_) == addresses.end()) {
        rank_.misled_ = true;
      }
      if (absl::Status status = rank_.AwaitOutcome(addresses); !status.ok()) {
        return status;
      }
      return std::make_unique<MetCommunicator>();
    }
    void Cancel() override { rank_.Cancel(); }

   private:
    SteppedRank& rank_;
    const std::string address_;
  };

  class MetCommunicator final : public worker::Communicator {
   public:
    uint32_t rank() const override { return 0; }
    uint32_t size() const override { return 1; }
    std::unique_ptr<worker::Transfer> Start(const worker::Exchange&) override {
      return nullptr;
    }
    void Abort(const absl::Status&) override {}
  };

  absl::StatusOr<std::unique_ptr<worker::Endpoint>> Open() {
    return std::make_unique<MetEndpoint>(*this, absl::StrCat(name_, ":", ++opened_));
  }

  // Of the rendezvous' thread.
  absl::StatusOr<client::GroupNews> AwaitNews() {
    MutexLock lock(mutex_);
    Rest();
    while (!given_.has_value() && !cancelled_) changed_.Wait(mutex_);
    if (cancelled_) return absl::CancelledError("cancelled");
    return *std::exchange(given_, std::nullopt);
  }
  absl::Status AwaitOutcome(const Addresses& addresses) {
    MutexLock lock(mutex_);
    connecting_ = addresses;
    Rest();
    while (!outcome_.has_value() && !cancelled_) changed_.Wait(mutex_);
    connecting_.reset();
    if (cancelled_) return absl::CancelledError("cancelled");
    return *std::exchange(outcome_, std::nullopt);
  }
  void Rest() EVENPACK_REQUIRES(mutex_) {
    rests_ = true;
    changed_.SignalAll();
  }

  // Of the test's.
  template <typename Change>
  void Go(const Change& change) {
    {
      MutexLock lock(mutex_);
      change();
      rests_ = false;
      changed_.SignalAll();
    }
    AwaitRest();
  }
  void AwaitRest() {
    MutexLock lock(mutex_);
    while (!rests_) changed_.Wait(mutex_);
  }
  void Cancel() {
    MutexLock lock(mutex_);
    cancelled_ = true;
    changed_.SignalAll();
  }

  const std::string name_;
  const OnReport on_report_;
  client::GroupMailbox mailbox_;
  uint64_t opened_ = 0;
  bool misled_ = false;
  Addresses peers_;
  std::optional<Addresses> connecting_;

  Mutex mutex_;
  CondVar changed_;
  bool rests_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool cancelled_ EVENPACK_GUARDED_BY(mutex_) = false;
  std::optional<client::GroupNews> given_;
  std::optional<absl::Status> outcome_;

  // Its thread uses what is above.
  worker::GroupRendezvous rendezvous_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_RENDEZVOUS_STEPPED_RANK_H_
