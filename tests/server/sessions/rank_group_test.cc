#include "server/sessions/rank_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/core/document/invalid_field.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/test_documents.h"

namespace evenpack {
namespace {

using testing::Draw;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

// A rank's process and what it has been told.
struct Process {
  uint32_t cp_rank = 0;
  std::string name;
  uint64_t joins = 0;
  uint64_t epoch = 0;
  bool connected = false;
  std::vector<std::string> peers;
  // The last epoch of which it was told that it stands.
  uint64_t stands = 0;
};

MemberRequest RequestOf(Process& process) {
  ++process.joins;
  return {process.cp_rank, process.name, absl::StrCat(process.name, ":", process.joins),
          process.epoch, process.connected};
}

// What `message` has the process do: "wait", "connect E: ADDRESSES", "stands E",
// "give up E".
std::string Carry(const MemberMessage& message, Process& process) {
  if (const auto* connect = std::get_if<ConnectPeers>(&message)) {
    process.epoch = connect->epoch;
    process.connected = true;
    process.peers = *connect->addresses;
    return absl::StrCat("connect ", connect->epoch, ": ",
                        absl::StrJoin(*connect->addresses, " "));
  }
  if (const auto* give_up = std::get_if<GiveUpEpoch>(&message)) {
    process.connected = false;
    return absl::StrCat("give up ", give_up->epoch);
  }
  if (const auto* stands = std::get_if<EpochStands>(&message)) {
    process.stands = stands->epoch;
    return absl::StrCat("stands ", stands->epoch);
  }
  return "wait";
}

class RankGroupTest : public ::testing::Test {
 protected:
  Process Start(uint32_t cp_rank, const std::string& name) {
    Process process;
    process.cp_rank = cp_rank;
    process.name = name;
    return process;
  }
  void Join(Process& process) { ASSERT_THAT(group_.Join(RequestOf(process)), IsOk()); }
  void LoseConnections(Process& process) {
    process.connected = false;
    Join(process);
  }
  std::string Next(Process& process) {
    return Carry(group_.Next(process.cp_rank), process);
  }
  void Connect() {
    Join(a_);
    Join(b_);
    ASSERT_EQ(Next(a_), "connect 1: a:1 b:1");
    ASSERT_EQ(Next(b_), "connect 1: a:1 b:1");
  }
  void RestartTheServer() { group_ = RankGroup(2); }

  RankGroup group_{2};
  Process a_ = Start(0, "a");
  Process b_ = Start(1, "b");
};

TEST_F(RankGroupTest, RanksConnectOnceAllAreHere) {
  Join(b_);
  EXPECT_EQ(Next(b_), "wait");
  EXPECT_FALSE(group_.formed());
  Join(a_);
  EXPECT_TRUE(group_.formed());
  EXPECT_EQ(Next(b_), "connect 1: a:1 b:1");
  EXPECT_EQ(Next(b_), "wait");
  EXPECT_EQ(Next(a_), "connect 1: a:1 b:1");
}

TEST_F(RankGroupTest, AnEpochStandsOnceAllAreConnected) {
  Connect();
  Join(a_);
  EXPECT_EQ(Next(a_), "wait");
  EXPECT_FALSE(group_.stands());
  Join(b_);
  EXPECT_TRUE(group_.stands());
  EXPECT_EQ(Next(a_), "stands 1");
  EXPECT_EQ(Next(a_), "wait");
  EXPECT_EQ(Next(b_), "stands 1");
  LoseConnections(b_);
  EXPECT_FALSE(group_.stands());
  EXPECT_EQ(Next(a_), "give up 1");
}

TEST_F(RankGroupTest, WhoLosesItsCallMeanwhileHearsOfItInTheNext) {
  Connect();
  Join(a_);
  group_.Leave(0);
  Join(b_);
  EXPECT_EQ(Next(b_), "stands 1");
  Join(a_);
  EXPECT_EQ(Next(a_), "stands 1");
}

TEST_F(RankGroupTest, AGroupOfOneConnectsAtOnce) {
  group_ = RankGroup(1);
  Join(a_);
  EXPECT_EQ(Next(a_), "connect 1: a:1");
}

TEST_F(RankGroupTest, WhoseCallHasEndedBeforeTheGroupFormedIsAwaited) {
  Join(a_);
  group_.Leave(0);
  Join(b_);
  EXPECT_EQ(Next(b_), "wait");
  Join(a_);
  EXPECT_EQ(Next(b_), "connect 1: a:2 b:1");
}

TEST_F(RankGroupTest, ARankThatWasRestartedReplacesItsConnections) {
  Connect();
  group_.Leave(1);
  EXPECT_EQ(Next(a_), "wait");
  Process restarted = Start(1, "b2");
  Join(restarted);
  EXPECT_EQ(Next(restarted), "wait");
  EXPECT_EQ(Next(a_), "give up 1");
  Join(a_);
  EXPECT_EQ(Next(a_), "connect 2: a:2 b2:1");
  EXPECT_EQ(Next(restarted), "connect 2: a:2 b2:1");
}

TEST_F(RankGroupTest, ConnectionsThatOneRankLostAreGivenUpByAll) {
  Connect();
  LoseConnections(a_);
  EXPECT_EQ(Next(a_), "wait");
  EXPECT_EQ(Next(b_), "give up 1");
  EXPECT_EQ(Next(b_), "wait");
  Join(b_);
  EXPECT_EQ(Next(a_), "connect 2: a:2 b:2");
}

TEST_F(RankGroupTest, AllMayLoseThemAtOnce) {
  Connect();
  LoseConnections(a_);
  LoseConnections(b_);
  EXPECT_EQ(Next(a_), "connect 2: a:2 b:2");
  EXPECT_EQ(Next(b_), "connect 2: a:2 b:2");
}

TEST_F(RankGroupTest, WhoWasNotToldOfAnEpochHasNothingToGiveUp) {
  Join(a_);
  Join(b_);
  EXPECT_EQ(Next(a_), "connect 1: a:1 b:1");
  LoseConnections(a_);
  EXPECT_EQ(Next(b_), "connect 2: a:2 b:1");
}

TEST_F(RankGroupTest, AllAreToldTheSameAddressesInAnEpoch) {
  Join(a_);
  Join(b_);
  EXPECT_EQ(Next(a_), "connect 1: a:1 b:1");
  group_.Leave(0);
  Join(a_);
  EXPECT_EQ(Next(b_), "connect 1: a:1 b:1");
}

TEST_F(RankGroupTest, ACallThatEndsDisturbsNobody) {
  Connect();
  group_.Leave(0);
  EXPECT_EQ(Next(b_), "wait");
  Join(a_);
  EXPECT_EQ(Next(a_), "wait");
  EXPECT_EQ(Next(b_), "wait");
  EXPECT_TRUE(group_.formed());
}

TEST_F(RankGroupTest, ARestartOfTheServerDisturbsNobody) {
  Connect();
  RestartTheServer();
  Join(b_);
  EXPECT_FALSE(group_.formed());
  Join(a_);
  EXPECT_TRUE(group_.formed());
  EXPECT_EQ(group_.epoch(), 1);
  EXPECT_EQ(Next(a_), "stands 1");
  EXPECT_EQ(Next(b_), "stands 1");
  LoseConnections(a_);
  EXPECT_EQ(Next(b_), "give up 1");
}

TEST_F(RankGroupTest, AnEpochAfterARestartOfTheServerIsHigherThanThoseBefore) {
  Connect();
  LoseConnections(a_);
  LoseConnections(b_);
  EXPECT_EQ(Next(a_), "connect 2: a:2 b:2");
  RestartTheServer();
  // b was not told of epoch 2.
  Join(b_);
  Join(a_);
  EXPECT_EQ(Next(a_), "give up 2");
  Join(a_);
  EXPECT_EQ(Next(b_), "connect 3: a:4 b:3");
}

TEST_F(RankGroupTest, ConnectionsOfDifferentEpochsAreGivenUp) {
  Connect();
  RestartTheServer();
  Join(a_);
  b_.epoch = 4;
  Join(b_);
  EXPECT_EQ(Next(a_), "give up 1");
  EXPECT_EQ(Next(b_), "give up 4");
  Join(a_);
  Join(b_);
  EXPECT_EQ(Next(a_), "connect 5: a:3 b:3");
}

TEST_F(RankGroupTest, AnEpochThatFollowsTheHighestOfAMemberIsOneOfTheGroups) {
  a_.epoch = kMaxGroupEpoch;
  Join(a_);
  Join(b_);
  EXPECT_EQ(Next(a_), "connect 4611686018427387905: a:1 b:1");
  EXPECT_EQ(Next(b_), "connect 4611686018427387905: a:1 b:1");
  Join(a_);
  Join(b_);
  EXPECT_TRUE(group_.stands());
}

TEST_F(RankGroupTest, RefusesByNameWhatNoMemberSays) {
  struct Row {
    MemberRequest request;
    std::string field;
    std::string accepted;
  };
  const std::string long_text(70000, 'x');
  for (const Row& row :
       {Row{{0, "a", "", 0, false}, "address", "1 to 65536 bytes"},
        Row{{0, "a", long_text, 0, false}, "address", "1 to 65536 bytes"},
        Row{{0, "a", "h:1", kMaxGroupEpoch + 1, false}, "epoch", "0 to"},
        Row{{0, "a", "h:1", 0, true}, "connected", "an epoch from 1"}}) {
    const absl::Status status = group_.Join(row.request);
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(row.accepted)));
    EXPECT_EQ(RefusedField(status), row.field);
  }
}

// Processes die, calls end, connections break and servers restart, at random.
class RandomGroup {
 public:
  RandomGroup(uint32_t ranks, uint64_t seed) : group_(ranks), random_(seed) {
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      processes_.emplace_back();
      Restart(rank);
    }
  }

  void Disturb() {
    const auto last = static_cast<uint32_t>(processes_.size() - 1);
    const uint32_t rank = Draw(random_, 0, last);
    switch (Draw(random_, 0, 12)) {
      case 0:
        return Restart(rank);
      case 1:
        group_.Leave(rank);
        processes_[rank].in_call = false;
        return;
      case 2:
        return RestartServer();
      case 3:
        processes_[rank].process.connected = false;
        return Join(rank);
      case 4:
      case 5:
        if (!processes_[rank].in_call) Join(rank);
        return;
      default:
        Poll(rank);
    }
  }

  // Until nobody has anything to do.
  void Settle() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (uint32_t rank = 0; rank < processes_.size(); ++rank) {
        if (!processes_[rank].in_call) {
          Join(rank);
          changed = true;
        }
        changed = Poll(rank) || changed;
      }
    }
  }

  void RestartServer() {
    group_ = RankGroup(static_cast<uint32_t>(processes_.size()));
    for (Running& running : processes_) running.in_call = false;
  }

  void ExpectConnected() const {
    const Process& first = processes_.front().process;
    for (const Running& running : processes_) {
      const Process& process = running.process;
      EXPECT_TRUE(process.connected);
      EXPECT_EQ(process.stands, process.epoch);
      EXPECT_EQ(process.epoch, first.epoch);
      EXPECT_EQ(process.peers, first.peers);
      ASSERT_EQ(process.peers.size(), processes_.size());
      EXPECT_THAT(process.peers[process.cp_rank],
                  ::testing::StartsWith(absl::StrCat(process.name, ":")));
    }
    EXPECT_TRUE(group_.stands());
    EXPECT_EQ(group_.epoch(), first.epoch);
  }

  uint64_t epoch() const { return processes_.front().process.epoch; }

 private:
  struct Running {
    Process process;
    bool in_call = false;
  };

  void Restart(uint32_t rank) {
    Running& running = processes_[rank];
    if (running.in_call) group_.Leave(rank);
    running = {};
    running.process.cp_rank = rank;
    running.process.name = absl::StrCat("p", started_++);
  }

  void Join(uint32_t rank) {
    ASSERT_THAT(group_.Join(RequestOf(processes_[rank].process)), IsOk());
    processes_[rank].in_call = true;
  }

  // Whether there was something to do.
  bool Poll(uint32_t rank) {
    Running& running = processes_[rank];
    if (!running.in_call) return false;
    const uint64_t before = running.process.epoch;
    const MemberMessage message = group_.Next(rank);
    Carry(message, running.process);
    if (std::holds_alternative<GiveUpEpoch>(message)) Join(rank);
    if (std::holds_alternative<ConnectPeers>(message)) {
      EXPECT_GT(running.process.epoch, before);
      ExpectSamePeers(running.process);
      Join(rank);
    }
    return !std::holds_alternative<AwaitPeers>(message);
  }

  // As all that live were told in this epoch.
  void ExpectSamePeers(const Process& told) const {
    for (const Running& running : processes_) {
      if (running.process.epoch == told.epoch && !running.process.peers.empty()) {
        EXPECT_EQ(running.process.peers, told.peers);
      }
    }
  }

  RankGroup group_;
  std::mt19937_64 random_;
  std::vector<Running> processes_;
  uint64_t started_ = 0;
};

TEST(RankGroupPropertyTest, WhateverHappensRanksEndUpConnectedToEachOther) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    RandomGroup group(static_cast<uint32_t>(1 + seed % 5), seed);
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < 60; ++i) group.Disturb();
      group.Settle();
      group.ExpectConnected();
      const uint64_t epoch = group.epoch();
      // Of a server's restart alone the ranks don't hear.
      group.RestartServer();
      group.Settle();
      group.ExpectConnected();
      EXPECT_EQ(group.epoch(), epoch);
    }
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace evenpack
