// Members of groups over a server's table of them, without a server in between.
#ifndef EVENPACK_TESTS_GPU_WORKER_RENDEZVOUS_TABLE_MEMBER_H_
#define EVENPACK_TESTS_GPU_WORKER_RENDEZVOUS_TABLE_MEMBER_H_

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "client/cpp/group_member.h"
#include "server/runtime/mutex.h"
#include "server/sessions/group_table.h"

namespace evenpack::testing {

// Of all but AwaitPeers.
inline client::GroupNews NewsOf(const MemberMessage& message) {
  using Kind = client::GroupNews::Kind;
  if (const auto* connect = std::get_if<ConnectPeers>(&message)) {
    return {Kind::kConnect, connect->epoch, *connect->addresses};
  }
  if (const auto* stands = std::get_if<EpochStands>(&message)) {
    return {Kind::kStands, stands->epoch, {}};
  }
  return {Kind::kGiveUp, std::get<GiveUpEpoch>(message).epoch, {}};
}

// Thread-safe but for Report, which one thread calls at a time.
class TableMember final : public client::GroupMember {
 public:
  // `table` must outlive it.
  TableMember(GroupTable& table, GroupSeat seat)
      : table_(table), seat_(std::move(seat)), call_(std::make_shared<Call>()) {}
  ~TableMember() override { table_.Leave(seat_, *call_); }
  TableMember(const TableMember&) = delete;
  TableMember& operator=(const TableMember&) = delete;

  absl::StatusOr<client::GroupNews> Next() override {
    for (;;) {
      if (!call_->AwaitWake()) return absl::CancelledError("cancelled");
      const absl::StatusOr<MemberMessage> message = table_.Next(seat_, *call_);
      if (!message.ok()) return message.status();
      if (std::holds_alternative<AwaitPeers>(*message)) continue;
      // There may be more.
      call_->Wake();
      return NewsOf(*message);
    }
  }

  void Report(const client::MemberState& state) override {
    const MemberState told = {state.address, state.epoch, state.connected};
    const auto woken = std::exchange(joined_, true) ? table_.Tell(seat_, told, *call_)
                                                    : table_.Join(seat_, told, call_);
    if (!woken.ok()) return;
    for (const auto& member : *woken) member->Wake();
  }

  void Cancel() override { call_->Cancel(); }

 private:
  class Call final : public Subscriber {
   public:
    void Wake() override {
      MutexLock lock(mutex_);
      woken_ = true;
      changed_.SignalAll();
    }
    void Cancel() {
      MutexLock lock(mutex_);
      cancelled_ = true;
      changed_.SignalAll();
    }
    // False once it is cancelled.
    bool AwaitWake() {
      MutexLock lock(mutex_);
      while (!woken_ && !cancelled_) changed_.Wait(mutex_);
      woken_ = false;
      return !cancelled_;
    }

   private:
    Mutex mutex_;
    CondVar changed_;
    bool woken_ EVENPACK_GUARDED_BY(mutex_) = false;
    bool cancelled_ EVENPACK_GUARDED_BY(mutex_) = false;
  };

  GroupTable& table_;
  const GroupSeat seat_;
  const std::shared_ptr<Call> call_;
  // GroupRendezvous reports under a lock of its own.
  bool joined_ = false;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_GPU_WORKER_RENDEZVOUS_TABLE_MEMBER_H_
