#include "server/web/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/server/web/raw_client.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::RawClient;
using testing::StatusIs;

bool HasIPv6() { return Listener::Open({"::1", 0}).ok(); }

bool ConnectsOverIPv6(uint16_t port) {
  const FileDescriptor connecting(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_addr = in6addr_loopback;
  to.sin6_port = htons(port);
  return connect(connecting.get(), reinterpret_cast<const sockaddr*>(&to),
                 sizeof(to)) == 0;
}

TEST(ListenerTest, Port0TakesOneThatIsFree) {
  const absl::StatusOr<Listener> first = Listener::Open({"127.0.0.1", 0});
  const absl::StatusOr<Listener> second = Listener::Open({"127.0.0.1", 0});
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(first->address().host, "127.0.0.1");
  EXPECT_NE(first->address().port, 0);
  EXPECT_NE(first->address().port, second->address().port);
}

TEST(ListenerTest, AcceptsConnectionsAndNeverWaitsForOne) {
  absl::StatusOr<Listener> listener = Listener::Open({"127.0.0.1", 0});
  ASSERT_THAT(listener, IsOk());
  EXPECT_FALSE(listener->Accept().valid());
  EXPECT_EQ(errno, EAGAIN);
  const RawClient client(listener->address().port);
  ASSERT_TRUE(client.connected());
  pollfd polled{listener->fd(), POLLIN, 0};
  ASSERT_EQ(poll(&polled, 1, -1), 1);
  EXPECT_TRUE(listener->Accept().valid());
}

TEST(ListenerTest, AllOfAHostsAddressesHaveOnePort) {
  const absl::StatusOr<std::vector<Listener>> all = Listener::OpenAll({"localhost", 0});
  ASSERT_THAT(all, IsOk());
  ASSERT_FALSE(all->empty());
  for (const Listener& listener : *all) {
    EXPECT_EQ(listener.address().port, all->front().address().port);
  }
  EXPECT_TRUE(RawClient(all->front().address().port).connected());
  EXPECT_THAT(Listener::OpenAll({"127.0.0.1", all->front().address().port}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("http-listen: can't listen on 127.0.0.1:")));
  EXPECT_THAT(Listener::OpenAll({"no.such.host.invalid", 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("http-listen")));
}

TEST(ListenerTest, APortThatIsTakenIsNamed) {
  const absl::StatusOr<Listener> first = Listener::Open({"127.0.0.1", 0});
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(Listener::Open(first->address()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("http-listen: can't listen on " +
                                       FormatAddress(first->address())),
                             HasSubstr("Address already in use"))));
}

TEST(ListenerTest, AHostThatIsNotThisMachinesIsNamed) {
  // An address for documentation, which no machine has.
  EXPECT_THAT(Listener::Open({"192.0.2.1", 0}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("http-listen: can't listen on 192.0.2.1:0")));
}

TEST(ListenerTest, AHostThatIsUnknownIsRefused) {
  EXPECT_THAT(Listener::Open({"no-such-host.invalid", 80}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("http-listen: 'no-such-host.invalid:80' is not "
                                 "accepted")));
}

TEST(ListenerTest, ANameIsResolved) {
  const absl::StatusOr<Listener> listener = Listener::Open({"localhost", 0});
  ASSERT_THAT(listener, IsOk());
  EXPECT_THAT(listener->address().host, AnyOf("127.0.0.1", "::1"));
}

TEST(ListenerTest, AnIPv6NumberIsTaken) {
  const absl::StatusOr<Listener> listener = Listener::Open({"::1", 0});
  if (listener.status().code() == absl::StatusCode::kFailedPrecondition) {
    GTEST_SKIP() << "no IPv6 here: " << listener.status();
  }
  ASSERT_THAT(listener, IsOk());
  EXPECT_EQ(listener->address().host, "::1");
  EXPECT_NE(listener->address().port, 0);
}

TEST(ListenerTest, AllAddressesOfIPv6AreThoseOfIPv4Too) {
  absl::StatusOr<Listener> listener = Listener::Open({"::", 0});
  if (listener.status().code() == absl::StatusCode::kFailedPrecondition) {
    GTEST_SKIP() << "no IPv6 here: " << listener.status();
  }
  ASSERT_THAT(listener, IsOk());
  EXPECT_TRUE(RawClient(listener->address().port).connected());
}

TEST(ListenerTest, AnyAddressIsOneOfEitherFamilyHoweverItIsWritten) {
  for (const char* host : {"0.0.0.0", "0", "*", "::"}) {
    absl::StatusOr<std::vector<Listener>> any = Listener::OpenAll({host, 0});
    if (std::string(host) == "::" && absl::IsFailedPrecondition(any.status())) {
      GTEST_SKIP() << "no IPv6 here: " << any.status();
    }
    ASSERT_THAT(any, IsOk()) << host;
    ASSERT_EQ(any->size(), 1U) << host;
    const ListenAddress& address = any->front().address();
    EXPECT_EQ(address.host, std::string(host) == "::" ? "::" : "0.0.0.0");
    EXPECT_TRUE(RawClient(address.port).connected()) << host;
    if (HasIPv6()) {
      EXPECT_TRUE(ConnectsOverIPv6(address.port)) << host;
    }
  }
}

TEST(ListenerTest, AnyAddressOfAPortThatIsTakenOverOneFamilyIsNotHad) {
  if (!HasIPv6()) GTEST_SKIP() << "no IPv6 here";
  const absl::StatusOr<Listener> taken = Listener::Open({"::1", 0});
  ASSERT_THAT(taken, IsOk());
  EXPECT_THAT(Listener::OpenAll({"0.0.0.0", taken->address().port}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("Address already in use")));
}

}  // namespace
}  // namespace evenpack
