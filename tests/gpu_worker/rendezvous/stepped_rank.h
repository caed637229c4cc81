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

// Used by one thread, that of the test. The rendezvous' own run only while that waits
// for them: one of them takes news, the other connects.
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
  std::optional<Addresses> connecting() const {
    MutexLock lock(mutex_);
    return connecting_;
  }
  // What an endpoint was asked to connect to without being among it.
  bool misled() const {
    MutexLock lock(mutex_);
    return misled_;
  }

  // Takes the next news, if there is any, also while it connects.
  bool TakeNews() {
    std::optional<client::GroupNews> news = mailbox_.Take();
    if (!news.has_value()) return false;
    const bool connects = news->kind == client::GroupNews::Kind::kConnect;
    MutexLock lock(mutex_);
    const uint64_t reports = reports_;
    given_ = *std::move(news);
    rests_ = false;
    changed_.SignalAll();
    // Told to connect it does, or says why it can't.
    while (!rests_ || (connects && !connecting_.has_value() && reports_ == reports)) {
      changed_.Wait(mutex_);
    }
    return true;
  }
  // How connecting goes, which it then reports.
  void Resolve(const absl::Status& outcome) {
    MutexLock lock(mutex_);
    if (outcome.ok()) peers_ = *connecting_;
    const uint64_t reports = reports_;
    outcome_ = outcome;
    changed_.SignalAll();
    while (reports_ == reports) changed_.Wait(mutex_);
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
      rank_.NoteReport();
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
        rank_.NoteMisled();
      }
      if (absl::Status status = rank_.AwaitOutcome(addresses); !status.ok()) {
        return status;
      }
      return std::make_unique<MetCommunicator>();
    }
    void Cancel() override { rank_.CancelConnecting(); }

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
    changed_.SignalAll();
    while (!outcome_.has_value() && !cancelled_) changed_.Wait(mutex_);
    connecting_.reset();
    if (cancelled_) return absl::CancelledError("cancelled");
    return *std::exchange(outcome_, std::nullopt);
  }
  void CancelConnecting() {
    MutexLock lock(mutex_);
    outcome_ = absl::CancelledError("the epoch is over");
    changed_.SignalAll();
  }
  void NoteReport() {
    MutexLock lock(mutex_);
    ++reports_;
    changed_.SignalAll();
  }
  void NoteMisled() {
    MutexLock lock(mutex_);
    misled_ = true;
  }
  void Rest() EVENPACK_REQUIRES(mutex_) {
    rests_ = true;
    changed_.SignalAll();
  }

  // Of the test's.
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
  Addresses peers_;

  mutable Mutex mutex_;
  CondVar changed_;
  // It waits for news.
  bool rests_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool cancelled_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool misled_ EVENPACK_GUARDED_BY(mutex_) = false;
  uint64_t reports_ EVENPACK_GUARDED_BY(mutex_) = 0;
  std::optional<Addresses> connecting_ EVENPACK_GUARDED_BY(mutex_);
  std::optional<client::GroupNews> given_ EVENPACK_GUARDED_BY(mutex_);
  std::optional<absl::Status> outcome_ EVENPACK_GUARDED_BY(mutex_);

  // Its threads use what is above.
  worker::GroupRendezvous rendezvous_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_RENDEZVOUS_STEPPED_RANK_H_
