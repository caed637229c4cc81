#include "gpu_worker/nccl/nccl_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_worker/communicator/exchange_version.h"
#include "gpu_worker/rendezvous/group_rendezvous.h"
#include "server/core/document/invalid_field.h"
#include "tests/gpu_worker/nccl/fake_group.h"
#include "tests/gpu_worker/rendezvous/table_member.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::DeviceOf;
using evenpack::testing::FakeDevice;
using evenpack::testing::InThreads;
using evenpack::testing::IsOk;
using evenpack::testing::kFakeImage;
using evenpack::testing::PassingTime;
using evenpack::testing::StatusIs;
using evenpack::testing::TableMember;
using ::testing::HasSubstr;

const std::string kPeer = Versioned("rank-1");

class NcclEndpointTest : public evenpack::testing::FakeNcclTest {
 protected:
  absl::StatusOr<std::unique_ptr<Endpoint>> Open(uint32_t rank, uint32_t ranks) {
    NcclOptions options;
    options.timing = Timing();
    options.device = DeviceOf(device_);
    options.kernels = kFakeImage;
    return NcclEndpoints(library_, options)(rank, ranks);
  }

  const std::shared_ptr<const NcclLibrary> library_ = Library();
  FakeDevice device_;
};

TEST_F(NcclEndpointTest, AddressesAreNewEachTimeAndRankZerosIsAnId) {
  std::set<std::string> addresses;
  for (int i = 0; i < 3; ++i) {
    for (uint32_t rank = 0; rank < 3; ++rank) {
      addresses.insert(Open(rank, 3).value()->address());
    }
  }
  EXPECT_EQ(addresses.size(), 9U);
  EXPECT_THAT(Open(0, 3).value()->address(),
              ::testing::MatchesRegex("exchange-2:[0-9a-f]{256}"));
}

// Whether it waits already or only will.
TEST_F(NcclEndpointTest, CancelledItWaitsForNoPeer) {
  for (const bool before : {true, false}) {
    const std::unique_ptr<Endpoint> endpoint = Open(0, 2).value();
    if (before) endpoint->Cancel();
    InThreads(2, [&](uint32_t thread) {
      if (thread == 1) return endpoint->Cancel();
      EXPECT_THAT(endpoint->Connect({endpoint->address(), kPeer}).status(),
                  StatusIs(absl::StatusCode::kCancelled, HasSubstr("given up")));
    });
  }
}

TEST_F(NcclEndpointTest, RefusesWhatIsNoGroupByName) {
  EXPECT_EQ(RefusedField(Open(0, 0).status()), "ranks");
  EXPECT_EQ(RefusedField(Open(0, 1025).status()), "ranks");
  EXPECT_EQ(RefusedField(Open(2, 2).status()), "rank");
  const auto endpoint = Open(1, 2).value();
  EXPECT_EQ(RefusedField(endpoint->Connect({Versioned("a")}).status()), "addresses");
  for (const std::string& wrong :
       {std::string("localhost:1"), std::string(256, 'x'), std::string(255, '0')}) {
    const auto refused = endpoint->Connect({Versioned(wrong), endpoint->address()});
    EXPECT_EQ(RefusedField(refused.status()), "addresses[0]");
  }
  EXPECT_THAT(endpoint->Connect({std::string(256, '0'), endpoint->address()}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("the worker of cp_rank 0 is of another version")));
}

TEST_F(NcclEndpointTest, APeerThatDoesNotComeIsToldOf) {
  const auto endpoint = Open(0, 2).value();
  const PassingTime time(clock_);
  EXPECT_THAT(endpoint->Connect({endpoint->address(), kPeer}).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("NCCL failed to connect within 60000 ms")));
}

// Ranks that find each other through a server's table.
class NcclGroupTest : public evenpack::testing::FakeNcclTest {
 protected:
  static constexpr uint32_t kRanks = 3;

  void SetUp() override {
    for (uint32_t rank = 0; rank < kRanks; ++rank) Start(rank);
  }
  void Start(uint32_t rank) {
    NcclOptions options;
    options.seat = {rank, kRanks};
    options.timing = Timing();
    // Time passes until an exchange is given up, and then there is time to connect.
    options.timing.connect_timeout = std::chrono::hours(10);
    options.timing.exchange_timeout = std::chrono::hours(10);
    options.device = DeviceOf(devices_[rank]);
    options.kernels = kFakeImage;
    GroupSeat seat{0, kRanks, rank, absl::StrCat("process", started_++)};
    ranks_[rank] = std::make_unique<GroupRendezvous>(
        std::make_unique<TableMember>(table_, std::move(seat)),
        [library = library_, options] { return OpenNcclEndpoint(library, options); });
  }
  void Restart(uint32_t rank) {
    ranks_[rank].reset();
    Start(rank);
  }
  // Each rank sends the others its number; the epoch, which all agree on. Where a group
  // is aborted meanwhile they do it again in the next.
  uint64_t ExchangeNumbers() {
    std::vector<uint64_t> epochs(kRanks);
    InThreads(kRanks, [&](uint32_t rank) { epochs[rank] = ExchangeOnRank(rank); });
    for (const uint64_t epoch : epochs) EXPECT_EQ(epoch, epochs[0]);
    return epochs[0];
  }
  GroupRendezvous& rank(uint32_t rank) { return *ranks_[rank]; }

 private:
  uint64_t ExchangeOnRank(uint32_t rank) {
    FakeDevice& device = devices_[rank];
    Ranges send(kRanks);
    Ranges receive(kRanks);
    for (uint32_t peer = 0; peer < kRanks; ++peer) {
      if (peer == rank) continue;
      send[peer] = {{rank, 1}};
      receive[peer] = {{peer, 1}};
    }
    for (uint64_t after = 0;;) {
      const absl::StatusOr<GroupEpoch> group = ranks_[rank]->Await(after);
      EXPECT_THAT(group, IsOk());
      if (!group.ok()) return 0;
      CudaBuffer numbers = device.Take(kRanks * sizeof(uint32_t));
      device.Write(std::vector<uint32_t>(kRanks, rank), numbers);
      Exchange exchange;
      exchange.tensors = {
          {numbers.data(), sizeof(uint32_t), numbers.data(), sizeof(uint32_t)}};
      exchange.row_bytes = sizeof(uint32_t);
      exchange.send_rows = &send;
      exchange.receive_rows = &receive;
      const absl::Status status =
          group->communicator->Start(exchange)->WaitForArrival();
      if (!status.ok()) {
        ranks_[rank]->Lose(group->epoch, status);
        after = group->epoch;
        continue;
      }
      EXPECT_EQ(device.Read<uint32_t>(numbers), (std::vector<uint32_t>{0, 1, 2}));
      return group->epoch;
    }
  }

  using Ranges = std::vector<std::vector<RowRange>>;

  const std::shared_ptr<const NcclLibrary> library_ = Library();
  GroupTable table_;
  std::vector<FakeDevice> devices_{kRanks};
  std::vector<std::unique_ptr<GroupRendezvous>> ranks_{kRanks};
  int started_ = 0;
};

TEST_F(NcclGroupTest, RanksFindEachOtherAndExchange) {
  EXPECT_EQ(ExchangeNumbers(), 1U);
  EXPECT_EQ(ExchangeNumbers(), 1U);
}

TEST_F(NcclGroupTest, AnyRankMayRestart) {
  ASSERT_EQ(ExchangeNumbers(), 1U);
  for (uint32_t restarted = 0; restarted < kRanks; ++restarted) {
    Restart(restarted);
    for (uint32_t each = 0; each < kRanks; ++each) {
      ASSERT_THAT(rank(each).Await(restarted + 1), IsOk());
    }
    EXPECT_EQ(ExchangeNumbers(), restarted + 2);
  }
}

TEST_F(NcclGroupTest, AnErrorOfAnyRankHasTheGroupFormAnew) {
  for (const bool tell : {false, true}) {
    fakeNcclTellPeers(tell);
    uint64_t epoch = ExchangeNumbers();
    for (uint32_t failing = 0; failing < kRanks; ++failing) {
      fakeNcclRaise(static_cast<int>(failing), nccl::kRemoteError);
      const uint64_t next = ExchangeNumbers();
      EXPECT_GT(next, epoch);
      epoch = next;
    }
  }
}

TEST_F(NcclGroupTest, AStallOfAnyRankHasTheGroupFormAnew) {
  uint64_t epoch = ExchangeNumbers();
  for (uint32_t stalled = 0; stalled < kRanks; ++stalled) {
    fakeNcclStall(static_cast<int>(stalled), true);
    std::thread unstall([&, aborts = fakeNcclAborts()] {
      while (fakeNcclAborts() == aborts) {
        clock_.Advance(std::chrono::seconds(1));
        std::this_thread::yield();
      }
      // Whoever has not given up yet would end the exchange, and not do it again.
      while (fakeNcclAborts() < aborts + kRanks) std::this_thread::yield();
      fakeNcclStall(static_cast<int>(stalled), false);
    });
    const uint64_t next = ExchangeNumbers();
    unstall.join();
    EXPECT_GT(next, epoch);
    epoch = next;
  }
}

TEST_F(NcclGroupTest, ARankThatCannotConnectHasTheGroupFormAnew) {
  ASSERT_EQ(ExchangeNumbers(), 1U);
  fakeNcclFailInit(1, nccl::kSystemError);
  rank(0).Lose(1, absl::UnavailableError("a cable"));
  // Or later, where rank 0 had not heard of an epoch that the others gave up: then they
  // have its address of that epoch again, which NCCL refuses.
  // Peers that are left in it have to run out of time.
  {
    const PassingTime time(clock_);
    EXPECT_GE(rank(0).Await(2)->epoch, 3U);
  }
  EXPECT_GE(ExchangeNumbers(), 3U);
}

}  // namespace
}  // namespace evenpack::worker
