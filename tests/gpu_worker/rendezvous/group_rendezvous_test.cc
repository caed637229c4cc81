#include "gpu_worker/rendezvous/group_rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_worker/communicator/gloo_endpoint.h"
#include "tests/gpu_worker/rendezvous/lone_endpoint.h"
#include "tests/gpu_worker/rendezvous/scripted_members.h"
#include "tests/gpu_worker/rendezvous/table_member.h"
#include "tests/testing/refused_threads.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::LoneEndpoint;
using ::evenpack::testing::MemberOfALostPeer;
using ::evenpack::testing::RefusedThreads;
using ::evenpack::testing::ScriptedMember;
using ::evenpack::testing::StatusIs;
using ::evenpack::testing::TableMember;
using ::testing::HasSubstr;

// One rank of a group of one, over a table and endpoints that a test can have fail.
class GroupOfOneTest : public ::testing::Test {
 protected:
  std::unique_ptr<GroupRendezvous> Start(const std::string& member = "a") {
    return Start(std::make_unique<TableMember>(table_, GroupSeat{0, 1, 0, member}));
  }
  std::unique_ptr<GroupRendezvous> Start(std::unique_ptr<client::GroupMember> member) {
    return std::make_unique<GroupRendezvous>(
        std::move(member), [this] { return Open(); },
        /*patience=*/std::chrono::seconds(20));
  }

  GroupTable table_;
  // Endpoints, counted from 1: how many there were, which can't be opened, which can't
  // connect.
  int opened_ = 0;
  int refused_ = 0;
  int failing_ = 0;
  const std::shared_ptr<std::vector<absl::Status>> aborts_ =
      std::make_shared<std::vector<absl::Status>>();

 private:
  absl::StatusOr<std::unique_ptr<Endpoint>> Open() {
    ++opened_;
    if (opened_ == refused_) return absl::UnavailableError("no port is free");
    absl::Status outcome;
    if (opened_ == failing_) outcome = absl::UnavailableError("nobody came");
    return std::make_unique<LoneEndpoint>(absl::StrCat("h:", opened_), outcome,
                                          aborts_);
  }
};

TEST_F(GroupOfOneTest, IsConnectedInTheFirstEpoch) {
  const auto group = Start();
  const auto epoch = group->Await();
  ASSERT_THAT(epoch, IsOk());
  EXPECT_EQ(epoch->epoch, 1U);
  EXPECT_EQ(epoch->communicator->size(), 1U);
  EXPECT_EQ(group->Await()->communicator, epoch->communicator);
  const GroupStanding standing = group->standing();
  EXPECT_EQ(standing.epoch, 1U);
  EXPECT_TRUE(standing.connected);
  EXPECT_EQ(standing.losses, 0U);
}

TEST_F(GroupOfOneTest, FormsAnewOnceAnExchangeFailed) {
  const auto group = Start();
  ASSERT_EQ(group->Await()->epoch, 1U);
  const absl::Status why = absl::UnavailableError("the peer is gone");
  group->Lose(1, why);
  EXPECT_EQ(group->Await(1)->epoch, 2U);
  EXPECT_THAT(*aborts_, ::testing::ElementsAre(why));
  // Of an epoch that has ended there is nothing to lose.
  group->Lose(1, why);
  EXPECT_EQ(group->Await(1)->epoch, 2U);
  EXPECT_EQ(opened_, 2);
  EXPECT_EQ(group->standing().epoch, 2U);
  EXPECT_EQ(group->standing().losses, 1U);
  group->Cancel();
  EXPECT_FALSE(group->standing().connected);
  EXPECT_EQ(group->standing().losses, 1U) << "it has left of its own accord";
}

TEST_F(GroupOfOneTest, FormsAnewWhereAPeerDidNotCome) {
  failing_ = 1;
  const auto group = Start();
  EXPECT_EQ(group->Await()->epoch, 2U);
  EXPECT_EQ(opened_, 2);
  EXPECT_EQ(group->standing().losses, 0U) << "it was never connected";
}

TEST_F(GroupOfOneTest, AnEndpointThatCannotBeOpenedIsFinal) {
  refused_ = 2;
  const auto group = Start();
  ASSERT_THAT(group->Await(), IsOk());
  group->Lose(1, absl::UnavailableError("x"));
  EXPECT_THAT(group->Await().status(),
              StatusIs(absl::StatusCode::kUnavailable, "no port is free"));
}

TEST_F(GroupOfOneTest, AProcessWhoseRankWasTakenIsTold) {
  const auto group = Start();
  ASSERT_THAT(group->Await(), IsOk());
  const auto newer = Start("b");
  ASSERT_THAT(newer->Await(), IsOk());
  EXPECT_THAT(group->Await(1).status(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("taken by a newer call")));
  EXPECT_EQ(aborts_->size(), 1U);
}

TEST_F(GroupOfOneTest, CancelEndsWhoWaitsAndTheExchanges) {
  const auto group = Start();
  ASSERT_THAT(group->Await(), IsOk());
  std::thread waiting([&group] {
    EXPECT_THAT(group->Await(1).status(),
                StatusIs(absl::StatusCode::kCancelled, "the group was left"));
  });
  group->Cancel();
  waiting.join();
  ASSERT_EQ(aborts_->size(), 1U);
  EXPECT_THAT(aborts_->front(), StatusIs(absl::StatusCode::kAborted,
                                         "a rank has left: the group was left"));
}

// As where a library throws.
class ThrowingEndpoint final : public Endpoint {
 public:
  const std::string& address() const override { return address_; }
  absl::StatusOr<std::unique_ptr<Communicator>> Connect(
      const std::vector<std::string>&) override {
    throw std::runtime_error("a socket is none");
  }
  void Cancel() override {}

 private:
  const std::string address_ = "h:1";
};

TEST(GroupOfThrownErrorsTest, WhatConnectingThrowsIsToldAndTriedAgain) {
  GroupTable table;
  GroupRendezvous group(
      std::make_unique<TableMember>(table, GroupSeat{0, 1, 0, "a"}),
      [] {
        return absl::StatusOr<std::unique_ptr<Endpoint>>(
            std::make_unique<ThrowingEndpoint>());
      },
      std::chrono::milliseconds(1));
  while (group.standing().epoch < 3) EXPECT_FALSE(group.Await().ok());
  EXPECT_THAT(group.Await().status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       HasSubstr("could not connect to its peers, last: "
                                 "connecting failed: a socket is none")));
}

TEST(GroupOfThrownErrorsTest, FormsAnewOnceTheSystemHasAThreadToConnectIn) {
  GroupTable table;
  const auto aborts = std::make_shared<std::vector<absl::Status>>();
  std::optional<RefusedThreads> refused;
  int opened = 0;
  GroupRendezvous group(
      std::make_unique<TableMember>(table, GroupSeat{0, 1, 0, "a"}), [&] {
        if (++opened == 1) {
          refused.emplace();
        } else {
          refused.reset();
        }
        return absl::StatusOr<std::unique_ptr<Endpoint>>(std::make_unique<LoneEndpoint>(
            absl::StrCat("h:", opened), absl::OkStatus(), aborts));
      });
  const auto epoch = group.Await();
  ASSERT_THAT(epoch, IsOk());
  EXPECT_EQ(epoch->epoch, 2U);
  EXPECT_EQ(opened, 2);
}

// Whose peers never come.
class WaitingEndpoint final : public Endpoint {
 public:
  explicit WaitingEndpoint(std::promise<void>& waits) : waits_(waits) {}
  const std::string& address() const override { return address_; }
  absl::StatusOr<std::unique_ptr<Communicator>> Connect(
      const std::vector<std::string>&) override {
    waits_.set_value();
    cancelled_.get_future().wait();
    return absl::CancelledError("connecting was given up");
  }
  void Cancel() override { cancelled_.set_value(); }

 private:
  const std::string address_ = "h:1";
  std::promise<void>& waits_;
  std::promise<void> cancelled_;
};

TEST(GroupFarewellTest, WhoLeavesDoesNotWaitForPeersThatNeverCome) {
  GroupTable table;
  std::promise<void> waits;
  {
    const GroupRendezvous group(
        std::make_unique<TableMember>(table, GroupSeat{0, 1, 0, "a"}),
        [&waits] {
          return absl::StatusOr<std::unique_ptr<Endpoint>>(
              std::make_unique<WaitingEndpoint>(waits));
        },
        kDefaultPatience, /*farewell=*/std::chrono::nanoseconds(0));
    waits.get_future().wait();
  }
}

// A peer may be lost before it has connected: whoever waits for it would do so as long
// as for one that is slow, and all others for the two.
TEST(GroupPatienceTest, WhoHearsThatTheEpochIsOverConnectsNoLonger) {
  std::promise<client::MemberState> answer;
  std::promise<void> waits;
  const GroupRendezvous group(
      std::make_unique<MemberOfALostPeer>(answer), [&waits, opened = 0]() mutable {
        std::unique_ptr<Endpoint> endpoint;
        if (++opened == 1) {
          endpoint = std::make_unique<WaitingEndpoint>(waits);
        } else {
          endpoint = std::make_unique<LoneEndpoint>("h:2", absl::OkStatus(), nullptr);
        }
        return absl::StatusOr<std::unique_ptr<Endpoint>>(std::move(endpoint));
      });
  auto told = answer.get_future();
  ASSERT_EQ(told.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  const client::MemberState state = told.get();
  EXPECT_EQ(state.address, "h:2");
  EXPECT_EQ(state.epoch, 1U);
  EXPECT_FALSE(state.connected);
}

// A group of one that has no patience. `outcomes` of connecting; then it waits for
// ever.
class ImpatientGroup {
 public:
  explicit ImpatientGroup(std::vector<absl::Status> outcomes)
      : outcomes_(std::move(outcomes)),
        group_(
            std::make_unique<TableMember>(table_, GroupSeat{0, 1, 0, "a"}),
            [this] { return Open(); }, std::chrono::milliseconds(1),
            /*farewell=*/std::chrono::nanoseconds(0)) {}

  GroupRendezvous& operator*() { return group_; }
  void AwaitLastConnect() { waits_.get_future().wait(); }

 private:
  absl::StatusOr<std::unique_ptr<Endpoint>> Open() {
    if (opened_ == outcomes_.size()) return std::make_unique<WaitingEndpoint>(waits_);
    const absl::Status& outcome = outcomes_[opened_++];
    return std::make_unique<LoneEndpoint>(absl::StrCat("h:", opened_), outcome,
                                          aborts_);
  }

  const std::vector<absl::Status> outcomes_;
  size_t opened_ = 0;
  const std::shared_ptr<std::vector<absl::Status>> aborts_ =
      std::make_shared<std::vector<absl::Status>>();
  GroupTable table_;
  std::promise<void> waits_;
  GroupRendezvous group_;
};

TEST(GroupPatienceTest, WhyPeersCouldNotBeReachedIsTold) {
  ImpatientGroup group({absl::UnavailableError("the first time"),
                        absl::UnavailableError("10.0.0.1 refuses")});
  group.AwaitLastConnect();
  EXPECT_THAT(
      (*group).Await().status(),
      StatusIs(absl::StatusCode::kDeadlineExceeded,
               "the ranks of the group were not all connected within 0.001 s; the last "
               "epoch was 3; this rank could not connect to its peers, last: 10.0.0.1 "
               "refuses"));
}

TEST(GroupPatienceTest, AFailureThatWasOvercomeIsForgotten) {
  ImpatientGroup group({absl::UnavailableError("nobody came"), absl::OkStatus()});
  absl::StatusOr<GroupEpoch> epoch = (*group).Await();
  while (absl::IsDeadlineExceeded(epoch.status())) epoch = (*group).Await();
  ASSERT_THAT(epoch, IsOk());
  (*group).Lose(epoch->epoch, absl::UnavailableError("a cable"));
  group.AwaitLastConnect();
  EXPECT_THAT(
      (*group).Await(epoch->epoch).status(),
      StatusIs(absl::StatusCode::kDeadlineExceeded,
               "the ranks of the group were not all connected within 0.001 s; the "
               "last epoch was 3"));
}

// Of a member with a test's news, which it takes to its end.
class ScriptedGroupTest : public GroupOfOneTest {
 protected:
  using Kind = client::GroupNews::Kind;

  ScriptedMember::Reports Play(std::vector<client::GroupNews> news,
                               size_t last_report) {
    const auto reports = std::make_shared<ScriptedMember::Reports>();
    {
      const auto group = Start(
          std::make_unique<ScriptedMember>(std::move(news), last_report, reports));
      EXPECT_THAT(group->Await().status(),
                  StatusIs(absl::StatusCode::kCancelled, "the end"));
    }
    return *reports;
  }
};

// Peers would connect to an endpoint that is gone.
TEST_F(ScriptedGroupTest, AnEpochThatItHasReportedLostIsNotReportedTwice) {
  failing_ = 1;
  EXPECT_EQ(Play({{Kind::kConnect, 1, {"h:1"}}, {Kind::kGiveUp, 1, {}}}, 2).size(), 2U);
  EXPECT_EQ(opened_, 2);
}

// Else all ranks would wait for it, and it for them.
TEST_F(ScriptedGroupTest, AnEpochThatEndedBeforeItWasBegunIsAnsweredAsAnyOther) {
  const ScriptedMember::Reports reports =
      Play({{Kind::kGiveUp, 5, {}}, {Kind::kConnect, 6, {"h:2"}}}, 3);
  ASSERT_EQ(reports.size(), 3U);
  EXPECT_EQ(reports[1].address, "h:2") << "peers may have been told of the first";
  EXPECT_EQ(reports[1].epoch, 5U);
  EXPECT_FALSE(reports[1].connected);
  EXPECT_TRUE(reports[2].connected);
}

TEST_F(ScriptedGroupTest, TheEndOfAnEarlierEpochDoesNotDisturbThePresentOne) {
  EXPECT_EQ(Play({{Kind::kConnect, 4, {"h:1"}}, {Kind::kGiveUp, 3, {}}}, 2).size(), 2U);
  EXPECT_EQ(opened_, 1);
}

TEST(GroupPatienceTest, PeersThatDoNotComeAreToldOfAndMayComeLater) {
  GroupTable table;
  const auto aborts = std::make_shared<std::vector<absl::Status>>();
  const auto start = [&](uint32_t rank) {
    const std::string name = absl::StrCat("rank", rank);
    return std::make_unique<GroupRendezvous>(
        std::make_unique<TableMember>(table, GroupSeat{0, 2, rank, name}),
        [=] {
          return absl::StatusOr<std::unique_ptr<Endpoint>>(
              std::make_unique<LoneEndpoint>(name, absl::OkStatus(), aborts));
        },
        std::chrono::milliseconds(1));
  };
  const auto group = start(0);
  EXPECT_THAT(
      group->Await().status(),
      StatusIs(absl::StatusCode::kDeadlineExceeded,
               "the ranks of the group were not all connected within 0.001 s; the "
               "last epoch was 0"));
  const auto peer = start(1);
  absl::StatusOr<GroupEpoch> epoch = group->Await();
  while (absl::IsDeadlineExceeded(epoch.status())) epoch = group->Await();
  ASSERT_THAT(epoch, IsOk());
  EXPECT_EQ(epoch->epoch, 1U);
}

// Ranks that are connected over Gloo.
class GlooGroupTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kRanks = 3;

  void SetUp() override {
    for (uint32_t rank = 0; rank < kRanks; ++rank) Start(rank);
  }
  void Start(uint32_t rank) {
    GroupSeat seat{0, kRanks, rank, absl::StrCat("process", started_++)};
    GlooOptions options;
    options.rank = rank;
    options.ranks = kRanks;
    ranks_[rank] = std::make_unique<GroupRendezvous>(
        std::make_unique<TableMember>(*table_, std::move(seat)),
        [options] { return OpenGlooEndpoint(options); });
  }
  // Each rank sends the others its number; the epoch, which all agree on. Where
  // connections break meanwhile they do it again in the next.
  uint64_t ExchangeNumbers() {
    std::vector<uint64_t> epochs(kRanks);
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back([&, rank] { epochs[rank] = ExchangeOnRank(rank); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const uint64_t epoch : epochs) EXPECT_EQ(epoch, epochs[0]);
    return epochs[0];
  }

  GroupRendezvous& rank(uint32_t rank) { return *ranks_[rank]; }
  void Restart(uint32_t rank) {
    ranks_[rank].reset();
    Start(rank);
  }

 private:
  uint64_t ExchangeOnRank(uint32_t rank) {
    uint64_t after = 0;
    for (;;) {
      const absl::StatusOr<GroupEpoch> group = ranks_[rank]->Await(after);
      EXPECT_THAT(group, IsOk());
      if (!group.ok()) return 0;
      std::vector<uint32_t> numbers(kRanks, rank);
      std::vector<std::vector<RowRange>> send(kRanks);
      std::vector<std::vector<RowRange>> receive(kRanks);
      for (uint32_t peer = 0; peer < kRanks; ++peer) {
        if (peer == rank) continue;
        send[peer] = {{rank, 1}};
        receive[peer] = {{peer, 1}};
      }
      Exchange exchange;
      exchange.tensors = {
          {numbers.data(), sizeof(uint32_t), numbers.data(), sizeof(uint32_t)}};
      exchange.row_bytes = sizeof(uint32_t);
      exchange.send_rows = &send;
      exchange.receive_rows = &receive;
      const absl::Status status = group->communicator->Start(exchange)->Wait();
      if (!status.ok()) {
        ranks_[rank]->Lose(group->epoch, status);
        after = group->epoch;
        continue;
      }
      for (uint32_t peer = 0; peer < kRanks; ++peer) EXPECT_EQ(numbers[peer], peer);
      return group->epoch;
    }
  }

  const std::unique_ptr<GroupTable> table_ = std::make_unique<GroupTable>();
  std::vector<std::unique_ptr<GroupRendezvous>> ranks_{kRanks};
  int started_ = 0;
};

TEST_F(GlooGroupTest, RanksFindEachOtherAndExchange) {
  EXPECT_EQ(ExchangeNumbers(), 1U);
  EXPECT_EQ(ExchangeNumbers(), 1U);
}

TEST_F(GlooGroupTest, AnyRankMayRestart) {
  ASSERT_EQ(ExchangeNumbers(), 1U);
  for (uint32_t restarted = 0; restarted < kRanks; ++restarted) {
    Restart(restarted);
    // Who noticed is in the next epoch, and waits for the others there.
    for (uint32_t each = 0; each < kRanks; ++each) {
      ASSERT_THAT(rank(each).Await(restarted + 1), IsOk());
    }
    EXPECT_EQ(ExchangeNumbers(), restarted + 2);
  }
}

TEST_F(GlooGroupTest, ConnectionsThatAnyRankLostAreMadeAnew) {
  ASSERT_EQ(ExchangeNumbers(), 1U);
  for (uint32_t loser = 0; loser < kRanks; ++loser) {
    rank(loser).Lose(loser + 1, absl::UnavailableError("a cable"));
    for (uint32_t each = 0; each < kRanks; ++each) {
      ASSERT_THAT(rank(each).Await(loser + 1), IsOk());
    }
    EXPECT_EQ(ExchangeNumbers(), loser + 2);
  }
}

}  // namespace
}  // namespace evenpack::worker
