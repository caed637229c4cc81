#include "gpu_worker/rendezvous/known_peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gpu_worker/communicator/gloo_endpoint.h"
#include "gpu_worker/rendezvous/group_rendezvous.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using client::GroupNews;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(KnownPeersTest, ARankThatIsConnectedStandsInTheOnlyEpoch) {
  KnownPeers peers({"a:1", "b:2"});
  peers.Report({"a:1", 0, false});
  const auto connect = peers.Next();
  ASSERT_THAT(connect, IsOk());
  EXPECT_EQ(connect->kind, GroupNews::Kind::kConnect);
  EXPECT_EQ(connect->epoch, 1U);
  EXPECT_THAT(connect->addresses, ElementsAre("a:1", "b:2"));
  peers.Report({"a:1", 1, true});
  const auto stands = peers.Next();
  ASSERT_THAT(stands, IsOk());
  EXPECT_EQ(stands->kind, GroupNews::Kind::kStands);
  EXPECT_EQ(stands->epoch, 1U);
}

TEST(KnownPeersTest, ARankThatIsNotConnectedIsToldThatNothingComes) {
  for (const bool was_connected : {false, true}) {
    KnownPeers peers({"a:1", "b:2"});
    peers.Report({"a:1", 0, false});
    ASSERT_THAT(peers.Next(), IsOk());
    if (was_connected) {
      peers.Report({"a:1", 1, true});
      ASSERT_THAT(peers.Next(), IsOk());
    }
    peers.Report({"a:3", 1, false});
    EXPECT_THAT(peers.Next().status(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("begin anew with all of them")));
  }
}

TEST(KnownPeersTest, CancelEndsWhoWaits) {
  KnownPeers peers({"a:1"});
  std::thread waiting([&peers] {
    EXPECT_THAT(peers.Next().status(),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("cancelled")));
  });
  peers.Cancel();
  waiting.join();
}

// Over real connections, with addresses that a test handed around.
TEST(KnownPeersTest, RanksThatKnowEachOtherAreConnected) {
  constexpr uint32_t kRanks = 3;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  std::vector<std::string> addresses;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    endpoints.push_back(*OpenGlooEndpoint({.rank = rank, .ranks = kRanks}));
    addresses.push_back(endpoints.back()->address());
  }
  std::vector<std::unique_ptr<GroupRendezvous>> groups;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    auto endpoint = std::make_shared<std::unique_ptr<Endpoint>>();
    *endpoint = std::move(endpoints[rank]);
    groups.push_back(std::make_unique<GroupRendezvous>(
        std::make_unique<KnownPeers>(addresses),
        [endpoint]() -> absl::StatusOr<std::unique_ptr<Endpoint>> {
          return std::move(*endpoint);
        }));
  }
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    const auto epoch = groups[rank]->Await();
    ASSERT_THAT(epoch, IsOk());
    EXPECT_EQ(epoch->communicator->rank(), rank);
    EXPECT_EQ(epoch->communicator->size(), kRanks);
  }
}

}  // namespace
}  // namespace evenpack::worker
