#include "server/sessions/group_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "server/core/document/invalid_field.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;
using ::testing::UnorderedElementsAre;

// A call of a member, which is woken as often as it says.
struct Call final : Subscriber {
  explicit Call(GroupSeat its_seat) : seat(std::move(its_seat)) {}
  void Wake() override { ++woken; }

  const GroupSeat seat;
  int woken = 0;
};
using CallPointer = std::shared_ptr<Call>;

class GroupTableTest : public ::testing::Test {
 protected:
  static CallPointer Open(uint32_t cp_rank, const std::string& member,
                          uint32_t dp_rank = 0, uint32_t cp_size = 2) {
    return std::make_shared<Call>(GroupSeat{dp_rank, cp_size, cp_rank, member});
  }
  // Wakes whoever is to be woken.
  static void Wake(const absl::StatusOr<GroupTable::Members>& woken) {
    ASSERT_THAT(woken, IsOk());
    for (const auto& each : *woken) each->Wake();
  }
  void Tell(const CallPointer& call, uint64_t epoch, bool connected) {
    Wake(table_.Tell(call->seat, {call->seat.member, epoch, connected}, *call));
  }
  void Join(const CallPointer& call, uint64_t epoch = 0, bool connected = false) {
    Wake(table_.Join(call->seat, {call->seat.member, epoch, connected}, call));
  }
  CallPointer Join(uint32_t cp_rank, const std::string& member, uint32_t dp_rank = 0,
                   uint32_t cp_size = 2) {
    CallPointer call = Open(cp_rank, member, dp_rank, cp_size);
    Join(call);
    return call;
  }
  // "wait", "connect 1", "stands 1", "give up 1", or how the call ends.
  std::string Next(const CallPointer& call) {
    const absl::StatusOr<MemberMessage> next = table_.Next(call->seat, *call);
    if (!next.ok()) return std::string(next.status().message());
    if (const auto* connect = std::get_if<ConnectPeers>(&*next)) {
      return absl::StrCat("connect ", connect->epoch);
    }
    if (const auto* stands = std::get_if<EpochStands>(&*next)) {
      return absl::StrCat("stands ", stands->epoch);
    }
    if (const auto* give_up = std::get_if<GiveUpEpoch>(&*next)) {
      return absl::StrCat("give up ", give_up->epoch);
    }
    return "wait";
  }
  void Leave(const CallPointer& call) { table_.Leave(call->seat, *call); }

  GroupTable table_;
};

TEST_F(GroupTableTest, WhatAMemberSaysWakesItsGroup) {
  const CallPointer a = Join(0, "a");
  EXPECT_EQ(a->woken, 1);
  EXPECT_EQ(Next(a), "wait");
  const CallPointer b = Join(1, "b");
  EXPECT_EQ(a->woken, 2);
  EXPECT_EQ(b->woken, 1);
  EXPECT_EQ(Next(a), "connect 1");
  EXPECT_EQ(Next(b), "connect 1");
  Tell(a, 1, true);
  Tell(b, 1, true);
  EXPECT_EQ(Next(a), "stands 1");
  EXPECT_EQ(Next(b), "stands 1");
}

TEST_F(GroupTableTest, GroupsAreOfADpRankAndASize) {
  const CallPointer a = Join(0, "a");
  const CallPointer other_rank = Join(1, "b", 1);
  const CallPointer other_size = Join(1, "c", 0, 3);
  EXPECT_EQ(a->woken, 1);
  EXPECT_EQ(Next(a), "wait");
  EXPECT_EQ(table_.Figures().groups, 3U);
  EXPECT_EQ(table_.Figures().members, 3U);
  EXPECT_EQ(table_.Figures().standing, 0U);
}

TEST_F(GroupTableTest, ANewerCallHasTheSeatWhoeversItIs) {
  for (const char* member : {"a", "a2"}) {
    const CallPointer before = Join(0, "a");
    const CallPointer peer = Join(1, "b");
    const CallPointer newer = Join(0, member);
    EXPECT_EQ(before->woken, 3) << "it is to end";
    // Nor does it take the seat back by what it says meanwhile.
    EXPECT_THAT(
        table_.Tell(before->seat, {"h:1", 0, false}, *before).status(),
        StatusIs(absl::StatusCode::kAborted, HasSubstr("taken by a newer call")));
    const auto next = table_.Next(before->seat, *before);
    EXPECT_THAT(next.status(),
                StatusIs(absl::StatusCode::kAborted,
                         "cp_rank 0 of dp_rank 0 was taken by a newer call than this "
                         "one of 'a'"));
    Leave(before);
    EXPECT_THAT(Next(newer), HasSubstr("connect"));
    Leave(newer);
    Leave(peer);
  }
}

// On a busy server what a lost call has said may be heard after all of its successor.
TEST_F(GroupTableTest, AnOlderCallTakesNoSeatFromANewer) {
  const CallPointer lost = Open(0, "a");
  const CallPointer newer = Join(0, "a");
  const CallPointer peer = Join(1, "b");
  EXPECT_THAT(table_.Join(lost->seat, {"h:1", 0, false}, lost).status(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("taken by a newer call")));
  Leave(lost);
  EXPECT_EQ(Next(newer), "connect 1");
  EXPECT_EQ(Next(peer), "connect 1");
}

TEST_F(GroupTableTest, ANewerCallOfTheSameProcessGoesOn) {
  const CallPointer a = Join(0, "a");
  const CallPointer b = Join(1, "b");
  Next(a);
  Next(b);
  Tell(b, 1, true);
  const CallPointer again = Open(0, "a");
  Join(again, 1, true);
  EXPECT_EQ(Next(again), "stands 1");
  EXPECT_EQ(Next(b), "stands 1");
}

TEST_F(GroupTableTest, ACallThatHasNotJoinedHasNoSeat) {
  const CallPointer silent = Open(0, "a");
  Leave(silent);
  const CallPointer a = Join(0, "a");
  Leave(silent);
  const CallPointer b = Join(1, "b");
  EXPECT_EQ(Next(a), "connect 1");
}

TEST_F(GroupTableTest, AGroupIsThereWhileAMemberIs) {
  const CallPointer a = Join(0, "a");
  const CallPointer b = Join(1, "b");
  Tell(a, 7, true);
  Tell(b, 7, true);
  Leave(a);
  Leave(a);
  EXPECT_EQ(table_.Figures().groups, 1U);
  EXPECT_EQ(table_.Figures().members, 1U);
  Leave(b);
  EXPECT_EQ(table_.Figures().groups, 0U);
  // Those who come back tell all that was known.
  const CallPointer a_again = Open(0, "a");
  Join(a_again, 7, true);
  const CallPointer b_again = Open(1, "b");
  Join(b_again, 7, true);
  EXPECT_EQ(Next(a_again), "stands 7");
  EXPECT_EQ(table_.Figures().standing, 1U);
}

TEST_F(GroupTableTest, AfterTheEndAllCallsEnd) {
  const CallPointer a = Join(0, "a");
  const CallPointer other = Join(1, "b", 1);
  EXPECT_THAT(table_.EndAll(absl::NotFoundError("gone")),
              UnorderedElementsAre(std::shared_ptr<Subscriber>(a),
                                   std::shared_ptr<Subscriber>(other)));
  EXPECT_EQ(Next(a), "gone");
  const CallPointer late = Open(1, "c");
  EXPECT_THAT(table_.Join(late->seat, {"h:1", 0, false}, late).status(),
              StatusIs(absl::StatusCode::kNotFound, "gone"));
}

TEST_F(GroupTableTest, WhoWaitsForARankThatIsNotHereIsSentAway) {
  const CallPointer waits = Join(0, "a");
  const CallPointer here = Join(0, "b", 1);
  const CallPointer peer = Join(1, "c", 1);
  EXPECT_THAT(table_.EndThoseThatWait(absl::UnavailableError("elsewhere")),
              UnorderedElementsAre(std::shared_ptr<Subscriber>(waits)));
  EXPECT_EQ(Next(waits), "elsewhere");
  EXPECT_THAT(table_.Tell(waits->seat, {"a", 0, false}, *waits).status(),
              StatusIs(absl::StatusCode::kUnavailable, "elsewhere"));
  EXPECT_EQ(table_.Figures().members, 2U);
  EXPECT_EQ(Next(here), "connect 1");
  // Who comes back is a member as any other, whatever becomes of the call before.
  const CallPointer again = Join(0, "a");
  Leave(waits);
  const CallPointer came = Join(1, "d");
  EXPECT_EQ(Next(again), "connect 1");
  // Nor does a group that stood know where the call is of a rank that has none here.
  Leave(peer);
  EXPECT_THAT(table_.EndThoseThatWait(absl::UnavailableError("elsewhere")),
              UnorderedElementsAre(std::shared_ptr<Subscriber>(here)));
  EXPECT_EQ(Next(here), "elsewhere");
  EXPECT_EQ(Next(came), "connect 1");
}

TEST_F(GroupTableTest, WhatIsRefusedLeavesNoGroup) {
  const CallPointer a = Open(0, "a");
  const auto refused = table_.Join(a->seat, {"", 0, false}, a);
  EXPECT_EQ(RefusedField(refused.status()), "address");
  EXPECT_EQ(table_.Figures().groups, 0U);
}

TEST(CheckSeatTest, RefusesByNameWhatIsNoSeat) {
  EXPECT_THAT(CheckSeat({0, 4, 3, std::string(256, 'x')}), IsOk());
  EXPECT_THAT(CheckSeat({0, 4, 4, "a"}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "cp_rank: 4 is not accepted; accepted: 0 to 3"));
  for (const std::string& member : {std::string(), std::string(257, 'x')}) {
    EXPECT_THAT(
        CheckSeat({0, 4, 0, member}),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1 to 256 bytes")));
  }
}

}  // namespace
}  // namespace evenpack
