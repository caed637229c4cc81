#include "server/app/grpc_port.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <poll.h>

#include <chrono>
#include <deque>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/runtime/mutex.h"
#include "tests/server/app/raw_grpc_client.h"
#include "tests/server/web/raw_client.h"
#include "tests/testing/descriptor_limit.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::DescriptorLimit;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::RawClient;
using testing::RawGrpcCall;
using testing::StatusIs;

// As gRPC names it.
std::string NameOf(const RawClient& client) {
  return absl::StrCat("ipv4:127.0.0.1:", client.local_port());
}

class GrpcPortTest : public ::testing::Test {
 protected:
  void Start(const std::string& host, const GrpcPortOptions& options = {},
             grpc::CallbackGenericService* calls = nullptr) {
    grpc::EnableDefaultHealthCheckService(true);
    auto port = GrpcPort::Open({host, 0}, options);
    ASSERT_THAT(port, IsOk());
    port_ = *std::move(port);
    grpc::ServerBuilder builder;
    port_->AddTo(builder, grpc::InsecureServerCredentials());
    if (calls != nullptr) builder.RegisterCallbackGenericService(calls);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    port_->Start();
  }
  void TearDown() override {
    if (port_ != nullptr) port_->Stop();
    if (server_ != nullptr) server_->Shutdown();
  }

  // Over a connection of its own.
  grpc::StatusCode Ask(const std::string& host = "127.0.0.1") const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto channel =
        grpc::CreateCustomChannel(absl::StrCat(host, ":", port_->port()),
                                  grpc::InsecureChannelCredentials(), arguments);
    RawGrpcCall call(channel, "/grpc.health.v1.Health/Check", "");
    call.Read();
    return call.Finish().error_code();
  }

  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<GrpcPort> port_;
};

TEST_F(GrpcPortTest, ConnectionsAreServedUntilItStops) {
  Start("127.0.0.1");
  EXPECT_EQ(Ask(), grpc::StatusCode::OK);
  const uint16_t port = port_->port();
  port_->Stop();
  port_->Stop();
  EXPECT_FALSE(RawClient(port).connected());
}

TEST_F(GrpcPortTest, APeerIsCutByItsNameAndNoOther) {
  for (const char* host : {"127.0.0.1", "0.0.0.0"}) {
    Start(host);
    {
      const RawClient hostile(port_->port());
      const RawClient other(port_->port());
      for (const RawClient* client : {&hostile, &other}) {
        client->Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        // Its first bytes: it was handed over.
        EXPECT_EQ(client->Receive(9).size(), 9U) << host;
      }
      port_->Cut("ipv4:127.0.0.1:1", "it is no peer");
      port_->Cut(NameOf(hostile), "it is hostile");
      hostile.ReceiveAll();
      EXPECT_EQ(other.Receive(1).size(), 1U) << host;
    }
    TearDown();
  }
}

constexpr char kHeaders = 1;
constexpr char kSettings = 4;
constexpr char kPing = 6;
constexpr char kContinuation = 9;
// Of no type that there is: it is passed over.
constexpr char kUnknown = 99;

// Of HTTP/2.
std::string Frame(char type, char stream, const std::string& payload) {
  const size_t size = payload.size();
  std::string header(9, '\0');
  header[1] = static_cast<char>(size >> 8);
  header[2] = static_cast<char>(size & 255);
  header[3] = type;
  header[8] = stream;
  return header + payload;
}

const std::string& Preface() {
  static const auto* const kPreface =
      new std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(kSettings, 0, ""));
  return *kPreface;
}

// Until the server's first frame is there: the connection was handed over.
void Open(const RawClient& client) {
  client.Send(Preface());
  EXPECT_EQ(client.Receive(9).size(), 9U);
}

size_t Descriptors() {
  using Entries = std::filesystem::directory_iterator;
  return static_cast<size_t>(std::distance(Entries("/proc/self/fd"), Entries()));
}

// As of a client that is killed while it sends: the reset may come with the last bytes.
TEST_F(GrpcPortTest, ConnectionsThatAreResetAreClosedAtOnce) {
  const std::string first = Preface() + Frame(kHeaders, 1, "");
  // A field of 16,000 bytes named x.
  const std::string field =
      std::string("\0\1x\x7f\x81\x7c", 6) + std::string(16000, 'v');
  const std::string again = Frame(kContinuation, 1, field);
  Start("127.0.0.1");
  const size_t before = Descriptors();
  for (int i = 0; i < 500; ++i) {
    RawClient client(port_->port());
    client.Send(first);
    for (int frame = 0; frame < 400; ++frame) client.Send(again);
    client.Reset();
  }
  {
    // The last in the listener's queue.
    const RawClient last(port_->port());
    last.Send(first);
    EXPECT_EQ(last.Receive(9).size(), 9U);
  }
  bool closed = false;
  for (int tries = 0; tries < 500 && !closed; ++tries) {
    closed = Descriptors() <= before;
    poll(nullptr, 0, 10);
  }
  EXPECT_TRUE(closed) << Descriptors() - before << " are held";
}

TEST_F(GrpcPortTest, WhoSendsMuchOfWhichNoCallComesIsCut) {
  Start("127.0.0.1", {.unclaimed = {.at_once = 65536, .each_call = 1 << 18},
                      .look = {.each = std::chrono::milliseconds(10)}});
  const RawClient caller(port_->port());
  const RawClient silent(port_->port());
  Open(caller);
  Open(silent);
  const std::shared_ptr<CallCounts> calls = port_->CallsOf(NameOf(caller));
  ASSERT_NE(calls, nullptr);
  calls->open = 2;
  for (const RawClient* client : {&caller, &silent}) {
    for (int i = 0; i < 32; ++i) {
      client->Send(Frame(kUnknown, 0, std::string(16384, 'x')));
    }
  }
  silent.ReceiveAll();
  EXPECT_EQ(port_->CallsOf(NameOf(silent)), nullptr);
  caller.Send(Frame(kPing, 0, "answered"));
  std::string answer;
  while (!answer.ends_with("answered")) {
    const std::string more = caller.Receive(1);
    ASSERT_FALSE(more.empty());
    answer += more;
  }
}

TEST_F(GrpcPortTest, WhatWasClaimedWhenItsCallEndedIsNotTooMuch) {
  Start("127.0.0.1", {.unclaimed = {.at_once = 65536, .each_call = 1 << 20},
                      .look = {.each = std::chrono::milliseconds(10)}});
  const RawClient caller(port_->port());
  Open(caller);
  const std::shared_ptr<CallCounts> calls = port_->CallsOf(NameOf(caller));
  ASSERT_NE(calls, nullptr);
  calls->open = 1;
  for (int i = 0; i < 128; ++i) {
    caller.Send(Frame(kUnknown, 0, std::string(16384, 'x')));
  }
  // Who is cut was looked at, and the caller with it.
  const auto await_look = [this] {
    const RawClient silent(port_->port());
    Open(silent);
    for (int i = 0; i < 80; ++i) {
      silent.Send(Frame(kUnknown, 0, std::string(16384, 'x')));
    }
    silent.ReceiveAll();
  };
  await_look();
  calls->claimed = 1 << 22;
  calls->open = 0;
  await_look();
  EXPECT_NE(port_->CallsOf(NameOf(caller)), nullptr);
}

TEST_F(GrpcPortTest, WhoHasTheMostOfWhatIsTooMuchTogetherIsCut) {
  Start("127.0.0.1", {.unclaimed = {.at_once = 1 << 20, .together = 3 << 19},
                      .look = {.each = std::chrono::milliseconds(10)}});
  const RawClient light(port_->port());
  const RawClient heavy(port_->port());
  Open(light);
  Open(heavy);
  // Neither sends more than a connection may.
  const std::string frame = Frame(kUnknown, 0, std::string(16384, 'x'));
  for (int i = 0; i < 40; ++i) light.Send(frame);
  for (int i = 0; i < 60; ++i) heavy.Send(frame);
  heavy.ReceiveAll();
  EXPECT_EQ(port_->CallsOf(NameOf(heavy)), nullptr);
  light.Send(Frame(kPing, 0, "answered"));
  EXPECT_NE(light.Receive(1), "");
  EXPECT_NE(port_->CallsOf(NameOf(light)), nullptr);
}

TEST_F(GrpcPortTest, WhatIsSentBeforeALookIsDueIsSeenByTheMemoryThatItTakes) {
  Start("127.0.0.1", {.unclaimed = {.at_once = 65536, .each_call = 1024},
                      .look = {.each = std::chrono::hours(1),
                               .growth = 1 << 20,
                               .glance_each = std::chrono::milliseconds(1)}});
  const RawClient silent(port_->port());
  Open(silent);
  silent.Send(Frame(kUnknown, 0, std::string(131072, 'x')));
  std::vector<std::unique_ptr<std::string>> held;
  while (port_->CallsOf(NameOf(silent)) != nullptr) {
    ASSERT_LT(held.size(), 2000U);
    held.push_back(std::make_unique<std::string>(1 << 20, 'x'));
    poll(nullptr, 0, 2);
  }
  silent.ReceiveAll();
}

// Has every call go on until it is told.
class HeldCalls final : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* /*context*/) override {
    auto* const call = std::make_unique<Call>().release();
    MutexLock lock(mutex_);
    calls_.push_back(call);
    return call;
  }

  size_t begun() {
    MutexLock lock(mutex_);
    return calls_.size();
  }
  void EndOne() {
    MutexLock lock(mutex_);
    calls_.back()->Finish(grpc::Status::OK);
    calls_.pop_back();
  }

  class Call final : public grpc::ServerGenericBidiReactor {
   public:
    void OnDone() override { delete this; }
  };

 private:
  Mutex mutex_;
  std::vector<Call*> calls_ EVENPACK_GUARDED_BY(mutex_);
};

// Calls of streams 1 and 3.
std::string TwoCalls() {
  const std::string fields = "\x83\x86\x04\x05/held\x01\x01x\x5f\x10" +
                             std::string("application/grpc") +
                             std::string("\0\x02te\x08trailers", 13);
  std::string calls = Frame(kHeaders, 1, fields) + Frame(kHeaders, 3, fields);
  // That these are all fields.
  calls[4] = calls[calls.size() / 2 + 4] = 4;
  return calls;
}

class GrpcPortGateTest : public GrpcPortTest {
 protected:
  void TearDown() override {
    while (calls_.begun() > 0) calls_.EndOne();
    GrpcPortTest::TearDown();
  }

  void StartWith(const AcceptGateOptions& gate) {
    Start("127.0.0.1", {.gate = gate}, &calls_);
  }

  // Once two calls have begun, their peer leaves.
  void CallAndLeave() {
    RawClient leaving(port_->port());
    Open(leaving);
    leaving.Send(TwoCalls());
    while (calls_.begun() < 2) poll(nullptr, 0, 1);
    leaving.Reset();
  }

  // A client that is not accepted.
  RawClient Waiting() {
    std::deque<RawClient> others;
    // Others may come in the round in which the one that left was accepted.
    while (others.size() < 64) {
      RawClient client(port_->port());
      client.Send(Preface());
      if (!client.HasMore(std::chrono::milliseconds(100))) return client;
      others.push_back(std::move(client));
    }
    ADD_FAILURE() << "all are accepted";
    return RawClient(port_->port());
  }

  HeldCalls calls_;
};

TEST_F(GrpcPortGateTest, OthersWaitWhileMoreIsTakenDownThanMayBe) {
  StartWith({.most_held = 2, .patience = std::chrono::hours(1)});
  CallAndLeave();
  const RawClient waiting = Waiting();
  calls_.EndOne();
  EXPECT_EQ(waiting.Receive(9).size(), 9U);
}

TEST_F(GrpcPortGateTest, WhoLeavesWhileItWaitsIsNeverHandedOver) {
  StartWith({.most_held = 2, .patience = std::chrono::hours(1)});
  CallAndLeave();
  RawClient impatient = Waiting();
  const std::string name = NameOf(impatient);
  impatient.Reset();
  const RawClient waiting(port_->port());
  waiting.Send(Preface());
  calls_.EndOne();
  EXPECT_EQ(waiting.Receive(9).size(), 9U);
  EXPECT_EQ(port_->CallsOf(name), nullptr);
}

TEST_F(GrpcPortGateTest, CallsThatAreNotTakenDownHoldNobodyForLong) {
  StartWith({.most_held = 0, .patience = std::chrono::milliseconds(1)});
  CallAndLeave();
  EXPECT_EQ(Ask(), grpc::StatusCode::OK);
}

TEST_F(GrpcPortTest, NamesAndWildcardsAreAllTheirAddresses) {
  for (const char* host : {"localhost", "0.0.0.0"}) {
    Start(host);
    EXPECT_EQ(Ask(), grpc::StatusCode::OK) << host;
    EXPECT_EQ(Ask("localhost"), grpc::StatusCode::OK) << host;
    TearDown();
  }
}

// Whether the port knows, by gRPC's name of it, who calls.
class KnownPeers final : public grpc::CallbackGenericService {
 public:
  explicit KnownPeers(const std::unique_ptr<GrpcPort>& port) : port_(port) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    const bool known = port_->CallsOf(context->peer()) != nullptr;
    auto* const call = std::make_unique<HeldCalls::Call>().release();
    call->Finish(known ? grpc::Status::OK
                       : grpc::Status(grpc::StatusCode::NOT_FOUND, context->peer()));
    return call;
  }

 private:
  const std::unique_ptr<GrpcPort>& port_;
};

// This machine's address on a link, with the link's name; empty where it has none.
std::string LinkLocalAddress() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return "";
  std::string found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET6) continue;
    const auto& address = reinterpret_cast<const sockaddr_in6&>(*each->ifa_addr);
    if (!IN6_IS_ADDR_LINKLOCAL(&address.sin6_addr)) continue;
    char text[INET6_ADDRSTRLEN] = "";
    inet_ntop(AF_INET6, &address.sin6_addr, text, sizeof(text));
    found = absl::StrCat(text, "%", each->ifa_name);
  }
  freeifaddrs(all);
  return found;
}

TEST_F(GrpcPortTest, PeersAreKnownByTheNamesThatGrpcHasForThem) {
  KnownPeers known(port_);
  Start("::", {}, &known);
  std::vector<std::string> hosts = {"127.0.0.1", "[::1]"};
  if (const std::string link = LinkLocalAddress(); !link.empty()) {
    hosts.push_back(absl::StrCat("[", link, "]"));
  }
  for (const std::string& host : hosts) {
    const auto channel = grpc::CreateChannel(absl::StrCat(host, ":", port_->port()),
                                             grpc::InsecureChannelCredentials());
    RawGrpcCall call(channel, "/any", "");
    call.Read();
    const grpc::Status status = call.Finish();
    EXPECT_TRUE(status.ok()) << host << ": " << status.error_message();
  }
}

TEST_F(GrpcPortTest, APortThatIsTakenIsRefused) {
  Start("127.0.0.1");
  EXPECT_THAT(
      GrpcPort::Open({"127.0.0.1", port_->port()}, {}),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("can't listen on")));
}

TEST_F(GrpcPortTest, ThoseThatTakeTheLastDescriptorsAreClosedAndLaterOnesServed) {
  Start("127.0.0.1");
  {
    const DescriptorLimit limit(128);
    std::deque<RawClient> clients;
    // Each takes two here, where both ends are.
    while (clients.size() < 64) {
      RawClient& client = clients.emplace_back(port_->port());
      ASSERT_TRUE(client.connected());
      // gRPC's settings, or nothing.
      client.Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
      if (client.Receive(1).empty()) break;
    }
    EXPECT_GT(clients.size(), 8U);
    EXPECT_LT(clients.size(), 64U);
  }
  EXPECT_EQ(Ask(), grpc::StatusCode::OK);
}

}  // namespace
}  // namespace evenpack
