// What the ranks of a group and their server say to each other, in any order in which
// it may arrive: the server's table of groups, the clients' mailboxes and the workers'
// rendezvous, and wires between them that a test holds up and cuts.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/runtime/log.h"
#include "server/sessions/group_table.h"
#include "tests/gpu_worker/rendezvous/stepped_rank.h"
#include "tests/gpu_worker/rendezvous/table_member.h"
#include "tests/testing/test_documents.h"

namespace evenpack::worker {
namespace {

using client::GroupNews;
using ::evenpack::testing::Draw;
using ::evenpack::testing::NewsOf;
using ::evenpack::testing::SteppedRank;

// A call of JoinGroup, at both ends, and what is on its way.
struct Call final : Subscriber {
  Call(GroupSeat its_seat, GroupTable& its_table)
      : seat(std::move(its_seat)), table(&its_table) {}
  void Wake() override { woken = true; }

  const GroupSeat seat;
  // Of the server to which it was opened, which may be gone.
  GroupTable* const table;
  std::deque<MemberState> to_server;
  std::deque<GroupNews> to_client;
  bool joined = false;
  bool woken = false;
  // The server has no more to do with it, or has sent the member to another one.
  bool ended = false;
  bool sent_away = false;
};
using CallPointer = std::shared_ptr<Call>;

class RandomRanks {
 public:
  RandomRanks(uint32_t ranks, uint64_t seed)
      : random_(seed), asked_(ranks), ranks_(ranks) {
    for (uint32_t rank = 0; rank < ranks; ++rank) Start(rank);
  }

  // One thing that happens, most of them what is due anyway.
  void Happen() {
    const uint32_t rank = Draw(random_, 0, size() - 1);
    switch (Draw(random_, 0, 39)) {
      case 0:
        return Start(rank);
      case 1:
        return LoseCall(rank);
      case 2:
        return RestartServer();
      case 3:
        if (ranks_[rank]->standing().connected) ranks_[rank]->Lose();
        return;
      case 4:
        return EndOnServer(calls_[rank]);
      case 5:
        return FailToConnect(rank);
      case 6:
        return cut_off_ ? Reach() : CutOff();
      case 7:
        SendAway();
        return;
      default:
        Step(rank, Draw(random_, 0, kSteps - 1));
    }
  }

  // Until nobody has anything to do, not even after a long time.
  void Settle() {
    for (int round = 0; round < 200; ++round) {
      bool changed = false;
      for (uint32_t rank = 0; rank < size(); ++rank) {
        for (uint32_t step = 0; step < kSteps; ++step) {
          while (Step(rank, step)) changed = true;
        }
      }
      if (changed) continue;
      // Those who wait for peers don't for ever, nor for those who are elsewhere.
      changed = SendAway();
      for (uint32_t rank = 0; rank < size(); ++rank) {
        if (!ranks_[rank]->connecting().has_value()) continue;
        FailToConnect(rank);
        changed = true;
      }
      if (!changed) return;
    }
    ADD_FAILURE() << "it goes on for ever";
  }

  void ExpectConnected() const {
    const SteppedRank& first = *ranks_.front();
    for (const auto& rank : ranks_) {
      EXPECT_TRUE(rank->standing().connected) << rank->name();
      EXPECT_EQ(rank->standing().epoch, first.standing().epoch);
      EXPECT_EQ(rank->peers(), first.peers());
      EXPECT_FALSE(rank->misled());
    }
  }

 private:
  // Of a rank's call, in the order in which they come about.
  static constexpr uint32_t kSteps = 7;
  bool Step(uint32_t rank, uint32_t step) {
    switch (step) {
      case 0:
        return Open(rank);
      case 1:
        return Upload(rank);
      case 2:
        return Answer(rank);
      case 3:
        return Download(rank);
      case 4:
        return ranks_[rank]->TakeNews();
      case 5:
        return Connect(rank);
      default:
        return Notice(rank);
    }
  }

  uint32_t size() const { return static_cast<uint32_t>(ranks_.size()); }

  // A process takes the rank, and the one before it is gone.
  void Start(uint32_t rank) {
    if (ranks_[rank] != nullptr) LoseCall(rank);
    ranks_[rank].reset();
    asked_[rank] = Draw(random_, 0, 1);
    ranks_[rank] = std::make_unique<
        SteppedRank>(absl::StrCat("p", started_++), [this,
                                                     rank](const client::MemberState&
                                                               state) {
      if (calls_[rank] == nullptr) return;
      calls_[rank]->to_server.push_back({state.address, state.epoch, state.connected});
    });
  }

  // The client's end notices before the server's. It may ask another server then.
  void LoseCall(uint32_t rank) {
    asked_[rank] = Draw(random_, 0, 1);
    ranks_[rank]->mailbox().Drop();
    const CallPointer call = std::exchange(calls_[rank], nullptr);
    if (call != nullptr) lost_.push_back(call);
  }
  // The server's before the client's, which Notice is for.
  static void EndOnServer(const CallPointer& call) {
    if (call == nullptr || call->ended) return;
    call->ended = true;
    call->table->Leave(call->seat, *call);
  }
  void RestartServer() {
    for (const auto& [rank, call] : calls_) {
      if (call != nullptr && call->table == tables_[leader_]) call->ended = true;
    }
    tables_[leader_] = NewTable();
  }

  // From here on the other server leads the job, and this one doesn't know.
  void CutOff() {
    cut_off_ = true;
    leader_ = 1 - leader_;
    tables_[leader_] = NewTable();
  }
  // Until now.
  void Reach() {
    cut_off_ = false;
    Wake(tables_[1 - leader_]->EndAll(absl::NotFoundError("led elsewhere")));
  }
  // What a server does that was cut off for long, and does again.
  bool SendAway() {
    if (!cut_off_) return false;
    const GroupTable::Members woken =
        tables_[1 - leader_]->EndThoseThatWait(absl::UnavailableError("not stored"));
    Wake(woken);
    return !woken.empty();
  }
  static void Wake(const GroupTable::Members& members) {
    for (const auto& member : members) member->Wake();
  }

  bool Open(uint32_t rank) {
    SteppedRank& member = *ranks_[rank];
    if (calls_[rank] != nullptr || !member.mailbox().state().has_value()) return false;
    // Where a server knows that another leads the job it says so at once.
    if (!cut_off_) asked_[rank] = leader_;
    calls_[rank] = std::make_shared<Call>(GroupSeat{0, size(), rank, member.name()},
                                          *tables_[asked_[rank]]);
    const client::MemberState& state = *member.mailbox().state();
    calls_[rank]->to_server.push_back({state.address, state.epoch, state.connected});
    return true;
  }
  bool Upload(uint32_t rank) {
    const CallPointer call = calls_[rank];
    if (call == nullptr || call->ended || call->to_server.empty()) return false;
    const MemberState state = std::move(call->to_server.front());
    call->to_server.pop_front();
    const auto woken = std::exchange(call->joined, true)
                           ? call->table->Tell(call->seat, state, *call)
                           : call->table->Join(call->seat, state, call);
    if (!woken.ok()) return EndWith(woken.status(), call);
    Wake(*woken);
    return true;
  }
  bool Answer(uint32_t rank) {
    const CallPointer call = calls_[rank];
    if (call == nullptr || call->ended || !call->joined || !call->woken) return false;
    const absl::StatusOr<MemberMessage> message = call->table->Next(call->seat, *call);
    if (!message.ok()) return EndWith(message.status(), call);
    call->woken = !std::holds_alternative<AwaitPeers>(*message);
    if (call->woken) call->to_client.push_back(NewsOf(*message));
    return true;
  }
  static bool EndWith(const absl::Status& status, const CallPointer& call) {
    EXPECT_FALSE(absl::IsAborted(status)) << status;
    call->sent_away = true;
    EndOnServer(call);
    return true;
  }
  bool Download(uint32_t rank) {
    const CallPointer call = calls_[rank];
    if (call == nullptr || call->to_client.empty()) return false;
    ranks_[rank]->mailbox().Deliver(std::move(call->to_client.front()));
    call->to_client.pop_front();
    return true;
  }
  // All who were told of these addresses have begun with them.
  bool Connect(uint32_t rank) {
    SteppedRank& member = *ranks_[rank];
    if (!member.connecting().has_value()) return false;
    std::set<uint32_t>& met = meetings_[absl::StrJoin(*member.connecting(), " ")];
    met.insert(rank);
    if (met.size() < size()) return false;
    member.Resolve(absl::OkStatus());
    return true;
  }
  void FailToConnect(uint32_t rank) {
    SteppedRank& member = *ranks_[rank];
    if (!member.connecting().has_value()) return;
    member.Resolve(absl::UnavailableError("nobody came"));
  }
  // A call that has ended at its other end.
  bool Notice(uint32_t rank) {
    if (!lost_.empty()) {
      EndOnServer(lost_.front());
      lost_.pop_front();
      return true;
    }
    const CallPointer call = calls_[rank];
    if (call == nullptr || !call->ended) return false;
    if (call->sent_away) asked_[rank] = 1 - asked_[rank];
    ranks_[rank]->mailbox().Drop();
    calls_[rank] = nullptr;
    return true;
  }

  GroupTable* NewTable() { return &made_.emplace_back(); }

  std::mt19937_64 random_;
  // Those of servers that are gone are held, too, since calls know them.
  std::deque<GroupTable> made_;
  // By server: one that leads the job, and one that did if it is cut off.
  std::array<GroupTable*, 2> tables_ = {NewTable(), NewTable()};
  uint32_t leader_ = 0;
  bool cut_off_ = false;
  // By rank: the server that it asks next, and its call.
  std::vector<uint32_t> asked_;
  std::map<uint32_t, CallPointer> calls_;
  std::deque<CallPointer> lost_;
  // Ranks by the addresses that they were to connect to.
  std::map<std::string, std::set<uint32_t>> meetings_;
  uint64_t started_ = 0;
  std::vector<std::unique_ptr<SteppedRank>> ranks_;
};

TEST(GroupInterleavingsTest, InWhateverOrderTheyHearOfItRanksEndUpConnected) {
  StartLog(LogLevel::kError, LogFormat::kText);
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    RandomRanks ranks(static_cast<uint32_t>(1 + seed % 4), seed);
    for (int round = 0; round < 4; ++round) {
      for (int i = 0; i < 120; ++i) ranks.Happen();
      ranks.Settle();
      ranks.ExpectConnected();
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace evenpack::worker
