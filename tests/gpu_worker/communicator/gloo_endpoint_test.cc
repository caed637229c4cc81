#include "gpu_worker/communicator/gloo_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gpu_worker/communicator/exchange_version.h"
#include "server/core/document/invalid_field.h"
#include "server/runtime/file_descriptor.h"
#include "tests/testing/refused_threads.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::RefusedThreads;
using evenpack::testing::StatusIs;
using ::testing::_;
using ::testing::Each;
using ::testing::HasSubstr;

std::unique_ptr<Endpoint> Open(uint32_t rank, uint32_t ranks) {
  GlooOptions options;
  options.connect_timeout = std::chrono::seconds(30);
  return GlooEndpoints(options)(rank, ranks).value();
}

TEST(GlooEndpointTest, RanksThatKnowTheirAddressesConnect) {
  constexpr uint32_t kRanks = 4;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  std::vector<std::string> addresses;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    endpoints.push_back(Open(rank, kRanks));
    addresses.push_back(endpoints.back()->address());
  }
  std::vector<absl::StatusOr<std::unique_ptr<Communicator>>> connected(kRanks);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back(
        [&, rank] { connected[rank] = endpoints[rank]->Connect(addresses); });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_THAT(connected[rank], IsOk());
    EXPECT_EQ((*connected[rank])->rank(), rank);
    EXPECT_EQ((*connected[rank])->size(), kRanks);
  }
}

size_t BytesOf(sa_family_t family) {
  return family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
}

// An address is followed by its number among those of the port.
void ExpectNothingBehindAddresses(const std::string& addresses, size_t pairs,
                                  sa_family_t family) {
  const size_t stride = addresses.size() / pairs;
  ASSERT_GT(stride, sizeof(sockaddr_storage));
  for (size_t pair = 0; pair < pairs; ++pair) {
    const char* const bytes = addresses.data() + pair * stride;
    sockaddr_storage at{};
    std::memcpy(&at, bytes, sizeof(at));
    EXPECT_EQ(at.ss_family, family);
    EXPECT_THAT(std::string(bytes + BytesOf(family), bytes + sizeof(at)), Each('\0'));
  }
}

TEST(GlooEndpointTest, WhatIsToldOfItHoldsNothingElseOfThisProcess) {
  constexpr uint32_t kRanks = 5;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    const std::string address = Unversioned({Open(rank, kRanks)->address()})->front();
    ExpectNothingBehindAddresses(address, kRanks - 1, AF_INET);
  }
}

bool HasLoopbackOfIpv6() {
  const FileDescriptor probe(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  return probe.get() >= 0 &&
         bind(probe.get(), reinterpret_cast<const sockaddr*>(&loopback),
              sizeof(loopback)) == 0;
}

TEST(GlooEndpointTest, AnAddressOfIpv6IsToldWhole) {
  if (!HasLoopbackOfIpv6()) GTEST_SKIP() << "this machine has no ::1";
  GlooOptions options;
  options.host = "::1";
  const OpenEndpointOf open = GlooEndpoints(options);
  const auto first = open(0, 2).value();
  const auto second = open(1, 2).value();
  const std::vector<std::string> addresses = {first->address(), second->address()};
  const std::vector<std::string> plain = Unversioned(addresses).value();
  for (const std::string& address : plain) {
    ExpectNothingBehindAddresses(address, 1, AF_INET6);
  }
  std::thread peer([&] { EXPECT_THAT(second->Connect(addresses), IsOk()); });
  EXPECT_THAT(first->Connect(addresses), IsOk());
  peer.join();
}

// Whether it waits already or only will.
TEST(GlooEndpointTest, CancelledItWaitsForNoPeer) {
  for (const uint32_t rank : {0U, 1U}) {
    for (const bool before : {true, false}) {
      const auto endpoint = Open(rank, 2);
      const auto silent = Open(1 - rank, 2);
      std::vector<std::string> addresses(2);
      addresses[rank] = endpoint->address();
      addresses[1 - rank] = silent->address();
      if (before) endpoint->Cancel();
      std::thread connecting([&] {
        EXPECT_THAT(endpoint->Connect(addresses).status(),
                    StatusIs(absl::StatusCode::kCancelled, _));
      });
      if (!before) endpoint->Cancel();
      connecting.join();
    }
  }
}

// Of a pair one rank listens and the other, which need not wait, connects to it: which
// is which is up to their ports.
TEST(GlooEndpointTest, ATimeoutThatGlooCannotDivideIsNoneTheLess) {
  absl::Status status;
  while (status.ok()) {
    GlooOptions options;
    options.ranks = 2;
    options.connect_timeout = std::chrono::milliseconds(1);
    const auto endpoint = OpenGlooEndpoint(options).value();
    const auto silent = Open(1, 2);
    status = endpoint->Connect({endpoint->address(), silent->address()}).status();
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("timeout")));
}

TEST(GlooEndpointTest, APeerThatDoesNotComeIsWaitedForNoLongerThanAsked) {
  constexpr std::chrono::seconds kTimeout(1);
  absl::Status status;
  while (status.ok()) {
    GlooOptions options;
    options.ranks = 2;
    options.connect_timeout = kTimeout;
    const auto endpoint = OpenGlooEndpoint(options).value();
    const auto silent = Open(1, 2);
    const auto start = std::chrono::steady_clock::now();
    status = endpoint->Connect({endpoint->address(), silent->address()}).status();
    // Gloo itself would wait five times as long.
    EXPECT_LT(std::chrono::steady_clock::now() - start, 4 * kTimeout);
  }
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("timeout")));
}

// Connects as a peer whose process is killed before its connection is taken.
void ConnectAndVanish(const Endpoint& endpoint) {
  sockaddr_storage at{};
  const std::string address = Unversioned({endpoint.address()})->front();
  ASSERT_GE(address.size(), sizeof(at));
  std::memcpy(&at, address.data(), sizeof(at));
  const FileDescriptor peer(socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(peer.get(), reinterpret_cast<const sockaddr*>(&at),
                    at.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(at)),
            0);
  const linger reset{1, 0};
  setsockopt(peer.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
}

// Whether this rank waits for it or would connect to it, as their ports have it.
TEST(GlooEndpointTest, APeerThatVanishesWhileItConnectsEndsNoOther) {
  int failed = 0;
  // The kernel has the reset before Gloo's thread wakes, but for a few times.
  for (int time = 0; time < 50; ++time) {
    const std::string gone = Open(1, 2)->address();
    const auto endpoint = Open(0, 2);
    ConnectAndVanish(*endpoint);
    const absl::Status status = endpoint->Connect({endpoint->address(), gone}).status();
    EXPECT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
    if (!status.ok()) ++failed;
  }
  EXPECT_GT(failed, 0);
}

TEST(GlooEndpointTest, AThreadThatTheSystemRefusesIsAnErrorOfConnecting) {
  const auto endpoint = Open(0, 1);
  const RefusedThreads refused;
  EXPECT_THAT(endpoint->Connect({endpoint->address()}).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("cp_rank 0 of 1 can't connect: Resource temporarily "
                                 "unavailable")));
}

TEST(GlooEndpointTest, EachHasAnAddressOfItsOwn) {
  EXPECT_NE(Open(0, 2)->address(), Open(0, 2)->address());
  EXPECT_FALSE(Open(0, 1)->address().empty());
}

TEST(GlooEndpointTest, RefusesByNameWhatAreNoAddressesOfItsGroup) {
  const auto endpoint = Open(0, 2);
  const auto refused = [&endpoint](const std::vector<std::string>& addresses) {
    const absl::Status status = endpoint->Connect(addresses).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, _));
    return RefusedField(status);
  };
  EXPECT_EQ(refused({endpoint->address()}), "addresses");
  EXPECT_EQ(refused({endpoint->address(), Versioned("")}), "addresses[1]");
  EXPECT_EQ(refused({endpoint->address(), endpoint->address() + "x"}), "addresses[1]");
}

TEST(GlooEndpointTest, APeerOfAnotherVersionIsNamed) {
  const auto endpoint = Open(0, 2);
  const std::string peer = Unversioned({Open(1, 2)->address()})->front();
  EXPECT_THAT(endpoint->Connect({endpoint->address(), peer}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("the worker of cp_rank 1 is of another version")));
}

TEST(GlooEndpointTest, RefusesByNameWhatCanBeNoRank) {
  struct Row {
    uint32_t rank;
    uint32_t ranks;
    std::string field;
  };
  for (const Row& row :
       {Row{0, 0, "ranks"}, Row{0, 1025, "ranks"}, Row{2, 2, "rank"}}) {
    const absl::Status status = GlooEndpoints({})(row.rank, row.ranks).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, _));
    EXPECT_EQ(RefusedField(status), row.field);
  }
}

TEST(GlooEndpointTest, AHostThatIsNoneIsToldOf) {
  GlooOptions options;
  options.host = "no.such.host.invalid";
  EXPECT_THAT(OpenGlooEndpoint(options).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("host: 'no.such.host.invalid'")));
}

}  // namespace
}  // namespace evenpack::worker
