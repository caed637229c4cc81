#include "gpu_worker/communicator/exchange_board.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Two ranks: rank 0 sends two rows and receives three.
class ExchangeBoardTest : public ::testing::Test {
 protected:
  using RowsByPeer = std::vector<std::vector<RowRange>>;

  static Exchange Between(const RowsByPeer& send, const RowsByPeer& receive) {
    Exchange exchange;
    exchange.send_rows = &send;
    exchange.receive_rows = &receive;
    return exchange;
  }
  Exchange OfRank0() const { return Between(two_to_1_, three_from_1_); }
  Exchange OfRank1() const { return Between(three_to_0_, two_from_0_); }

  // The rank reads the peer's exchange 0.
  void Read(uint32_t peer, uint32_t rank, const Exchange& to) {
    ASSERT_TRUE(board_.BeginRead(peer, 0, rank, to).has_value());
    board_.EndRead(peer, 0);
  }

  const RowsByPeer two_to_1_ = {{}, {{0, 1}, {5, 1}}};
  const RowsByPeer three_from_1_ = {{}, {{0, 3}}};
  const RowsByPeer three_to_0_ = {{{4, 3}}, {}};
  const RowsByPeer two_from_0_ = {{{0, 2}}, {}};
  ExchangeBoard board_{2, std::chrono::minutes(10)};
};

// Where a wait that isn't one would show by chance alone.
constexpr int kTries = 100;

TEST_F(ExchangeBoardTest, AnExchangeThatAllHaveReadFinishes) {
  EXPECT_EQ(board_.ranks(), 2U);
  board_.Post(0, 0, OfRank0());
  board_.Post(1, 0, OfRank1());
  const std::optional<Exchange> read = board_.BeginRead(1, 0, 0, OfRank0());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->send_rows, &three_to_0_);
  board_.EndRead(1, 0);
  board_.EndReceive(0, 0);
  Read(0, 1, OfRank1());
  board_.EndReceive(1, 0);
  EXPECT_THAT(board_.Finish(0, 0), IsOk());
  EXPECT_THAT(board_.Finish(1, 0), IsOk());
  EXPECT_THAT(board_.reason(), IsOk());
}

TEST_F(ExchangeBoardTest, AReaderWaitsForThePeerToBegin) {
  std::thread reading([&] {
    const std::optional<Exchange> read = board_.BeginRead(1, 0, 0, OfRank0());
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->send_rows, &three_to_0_);
    board_.EndRead(1, 0);
  });
  std::this_thread::yield();
  board_.Post(1, 0, OfRank1());
  board_.EndReceive(1, 0);
  EXPECT_THAT(board_.Finish(1, 0), IsOk());
  reading.join();
}

TEST_F(ExchangeBoardTest, FinishWaitsForPeersThatHaveNotRead) {
  for (int i = 0; i < kTries; ++i) {
    std::atomic<bool> read = false;
    board_.Post(0, 0, OfRank0());
    board_.EndReceive(0, 0);
    std::thread finishing([&] {
      EXPECT_THAT(board_.Finish(0, 0), IsOk());
      EXPECT_TRUE(read.load());
    });
    std::this_thread::yield();
    EXPECT_TRUE(board_.BeginRead(0, 0, 1, OfRank1()).has_value());
    std::this_thread::yield();
    read = true;
    board_.EndRead(0, 0);
    finishing.join();
  }
}

TEST_F(ExchangeBoardTest, FinishWaitsForTheRanksOwnReceiving) {
  for (int i = 0; i < kTries; ++i) {
    std::atomic<bool> received = false;
    board_.Post(0, 0, OfRank0());
    Read(0, 1, OfRank1());
    std::thread finishing([&] {
      EXPECT_THAT(board_.Finish(0, 0), IsOk());
      EXPECT_TRUE(received.load());
    });
    std::this_thread::yield();
    received = true;
    board_.EndReceive(0, 0);
    finishing.join();
  }
}

// Its memory is still read.
TEST_F(ExchangeBoardTest, AnAbortLetsReadersEnd) {
  for (int i = 0; i < kTries; ++i) {
    ExchangeBoard board(2, std::chrono::minutes(10));
    std::atomic<bool> read = false;
    board.Post(0, 0, OfRank0());
    board.EndReceive(0, 0);
    ASSERT_TRUE(board.BeginRead(0, 0, 1, OfRank1()).has_value());
    board.Abort(absl::AbortedError("a rank is gone"));
    std::thread finishing([&] {
      EXPECT_FALSE(board.Finish(0, 0).ok());
      EXPECT_TRUE(read.load());
    });
    std::this_thread::yield();
    read = true;
    board.EndRead(0, 0);
    finishing.join();
  }
}

TEST_F(ExchangeBoardTest, AnAbortEndsReadersThatWait) {
  std::thread aborting([&] { board_.Abort(absl::AbortedError("a rank is gone")); });
  EXPECT_FALSE(board_.BeginRead(1, 0, 0, OfRank0()).has_value());
  aborting.join();
  EXPECT_THAT(board_.reason(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("a rank is gone")));
  // And those to come, whatever there is to read.
  board_.Post(1, 0, OfRank1());
  EXPECT_FALSE(board_.BeginRead(1, 0, 0, OfRank0()).has_value());
}

TEST_F(ExchangeBoardTest, AnAbortEndsFinishWithItsReason) {
  board_.Post(0, 0, OfRank0());
  board_.EndReceive(0, 0);
  std::thread aborting([&] { board_.Abort(absl::AbortedError("a rank is gone")); });
  EXPECT_THAT(board_.Finish(0, 0),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("a rank is gone")));
  aborting.join();
}

TEST_F(ExchangeBoardTest, TheFirstReasonCounts) {
  board_.Abort(absl::AbortedError("a rank is gone"));
  board_.Abort(absl::InternalError("another one too"));
  EXPECT_THAT(board_.reason(), StatusIs(absl::StatusCode::kAborted, "a rank is gone"));
}

TEST_F(ExchangeBoardTest, APeerThatDoesNotBeginInTimeAbortsTheGroup) {
  ExchangeBoard board(2, std::chrono::milliseconds(1));
  board.Post(0, 7, OfRank0());
  // Another exchange than the one that is waited for.
  board.Post(1, 6, OfRank1());
  EXPECT_FALSE(board.BeginRead(1, 7, 0, OfRank0()).has_value());
  const auto in_time =
      StatusIs(absl::StatusCode::kUnavailable,
               HasSubstr("cp_rank 1 did not begin exchange 7 in time"));
  EXPECT_THAT(board.reason(), in_time);
  board.EndReceive(0, 7);
  EXPECT_THAT(board.Finish(0, 7), in_time);
}

TEST_F(ExchangeBoardTest, RanksThatDisagreeOnTheRowsAbortTheGroup) {
  board_.Post(0, 0, OfRank0());
  board_.Post(1, 0, Between(two_from_0_, two_from_0_));
  EXPECT_FALSE(board_.BeginRead(1, 0, 0, OfRank0()).has_value());
  const auto disagree = StatusIs(absl::StatusCode::kFailedPrecondition,
                                 AllOf(HasSubstr("cp_rank 1 sends 2 rows"),
                                       HasSubstr("cp_rank 0 expects 3 rows")));
  EXPECT_THAT(board_.reason(), disagree);
  // Nobody reads what was refused.
  board_.EndReceive(1, 0);
  EXPECT_THAT(board_.Finish(1, 0), disagree);
}

}  // namespace
}  // namespace evenpack::worker
