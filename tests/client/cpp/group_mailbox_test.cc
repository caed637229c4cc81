#include "client/cpp/group_mailbox.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

namespace evenpack::client {
namespace {

using Kind = GroupNews::Kind;

class GroupMailboxTest : public ::testing::Test {
 protected:
  // "connect 1", "stands 1", "give up 1", or "nothing".
  std::string Take() {
    const std::optional<GroupNews> news = mailbox_.Take();
    if (!news.has_value()) return "nothing";
    const char* const kind = news->kind == Kind::kConnect  ? "connect "
                             : news->kind == Kind::kStands ? "stands "
                                                           : "give up ";
    return absl::StrCat(kind, news->epoch);
  }
  // A member whose connections of epoch 1 stand.
  void Stand() {
    mailbox_.Report({"h:1"});
    mailbox_.Deliver({Kind::kConnect, 1, {}});
    EXPECT_EQ(Take(), "connect 1");
    mailbox_.Report({"h:1", 1, true});
  }

  GroupMailbox mailbox_;
};

TEST_F(GroupMailboxTest, WhatIsToBeAnsweredLeavesNothingToTellUntilItIs) {
  EXPECT_FALSE(mailbox_.state().has_value());
  mailbox_.Report({"h:1"});
  EXPECT_EQ(mailbox_.state()->address, "h:1");
  EXPECT_EQ(Take(), "nothing");
  mailbox_.Deliver({Kind::kConnect, 1, {}});
  EXPECT_EQ(mailbox_.state()->address, "h:1") << "it has not been taken yet";
  EXPECT_EQ(Take(), "connect 1");
  EXPECT_FALSE(mailbox_.state().has_value());
  mailbox_.Report({"h:1", 1, true});
  mailbox_.Deliver({Kind::kStands, 1, {}});
  EXPECT_EQ(Take(), "stands 1");
  EXPECT_TRUE(mailbox_.state()->connected);
  mailbox_.Deliver({Kind::kGiveUp, 1, {}});
  EXPECT_EQ(Take(), "give up 1");
  EXPECT_FALSE(mailbox_.state().has_value());
}

TEST_F(GroupMailboxTest, WhatAReportHasAnsweredIsNotHeard) {
  Stand();
  mailbox_.Deliver({Kind::kStands, 1, {}});
  mailbox_.Report({"h:2", 1, false});
  EXPECT_EQ(Take(), "nothing");
  mailbox_.Deliver({Kind::kGiveUp, 1, {}});
  EXPECT_EQ(Take(), "nothing");
  EXPECT_EQ(mailbox_.state()->address, "h:2");
  mailbox_.Deliver({Kind::kConnect, 2, {}});
  EXPECT_EQ(Take(), "connect 2");
}

TEST_F(GroupMailboxTest, NorWhatWasDeliveredBeforeTheReport) {
  Stand();
  mailbox_.Deliver({Kind::kGiveUp, 1, {}});
  mailbox_.Report({"h:2", 1, false});
  mailbox_.Deliver({Kind::kConnect, 2, {}});
  EXPECT_EQ(mailbox_.state()->address, "h:2");
  EXPECT_EQ(Take(), "connect 2");
}

TEST_F(GroupMailboxTest, AnEpochThatEndedBeforeItWasBegunIsToBeGivenUpAlone) {
  mailbox_.Report({"h:1"});
  mailbox_.Deliver({Kind::kConnect, 1, {}});
  mailbox_.Deliver({Kind::kGiveUp, 1, {}});
  EXPECT_EQ(Take(), "give up 1");
  EXPECT_FALSE(mailbox_.state().has_value()) << "it is asked for a new address";
  EXPECT_EQ(Take(), "nothing");
}

TEST_F(GroupMailboxTest, TheEndOfAnEarlierEpochDoesNotDisturbALaterOne) {
  Stand();
  mailbox_.Report({"h:2", 1, false});
  mailbox_.Deliver({Kind::kConnect, 2, {}});
  mailbox_.Deliver({Kind::kGiveUp, 1, {}});
  EXPECT_EQ(Take(), "connect 2");
  EXPECT_EQ(Take(), "nothing");
  mailbox_.Report({"h:2", 2, true});
  mailbox_.Deliver({Kind::kGiveUp, 1, {}});
  mailbox_.Deliver({Kind::kStands, 1, {}});
  EXPECT_EQ(Take(), "nothing");
  EXPECT_TRUE(mailbox_.state()->connected);
}

TEST_F(GroupMailboxTest, NewsOfALostCallIsDropped) {
  mailbox_.Report({"h:1"});
  mailbox_.Deliver({Kind::kConnect, 1, {}});
  mailbox_.Drop();
  EXPECT_EQ(Take(), "nothing");
  EXPECT_EQ(mailbox_.state()->address, "h:1");
}

// It would hear of no peer that is lost, and have no call until it has given up by
// itself.
TEST_F(GroupMailboxTest, WhoseCallIsLostWhileItConnectsBeginsAnew) {
  mailbox_.Report({"h:1"});
  mailbox_.Deliver({Kind::kConnect, 3, {}});
  EXPECT_EQ(Take(), "connect 3");
  mailbox_.Drop();
  EXPECT_EQ(Take(), "give up 3");
  EXPECT_EQ(Take(), "nothing");
  mailbox_.Report({"h:2", 3, false});
  EXPECT_EQ(Take(), "nothing");
  EXPECT_EQ(mailbox_.state()->address, "h:2");
}

TEST_F(GroupMailboxTest, UnlessItIsConnectedBeforeItHearsOfThat) {
  mailbox_.Report({"h:1"});
  mailbox_.Deliver({Kind::kConnect, 3, {}});
  EXPECT_EQ(Take(), "connect 3");
  mailbox_.Drop();
  mailbox_.Report({"h:1", 3, true});
  EXPECT_EQ(Take(), "nothing");
}

}  // namespace
}  // namespace evenpack::client
