#include "server/app/call_counting.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "evenpack/v1/packing_service.grpc.pb.h"
#include "server/runtime/mutex.h"
#include "tests/server/app/raw_grpc_client.h"

namespace evenpack {
namespace {

using grpc::experimental::ServerInterceptorFactoryInterface;
using ::testing::AllOf;
using ::testing::Gt;
using ::testing::Lt;
using testing::RawGrpcCall;
using ::testing::StartsWith;

// A call of one message, and a stream whose messages are read as bytes, as they are by
// the service.
using Rpc = v1::PackingService;
class OneOfEach final : public Rpc::WithRawCallbackMethod_Ingest<
                            Rpc::WithCallbackMethod_GetJob<Rpc::Service>> {
 public:
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const v1::GetJobRequest* /*request*/,
                                   v1::GetJobResponse* /*response*/) override {
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Ingest(
      grpc::CallbackServerContext* /*context*/) override {
    return std::make_unique<OneMessage>().release();
  }

 private:
  class OneMessage final
      : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
   public:
    OneMessage() { StartRead(&bytes_); }
    void OnReadDone(bool /*ok*/) override { Finish(grpc::Status::OK); }
    void OnDone() override { delete this; }

   private:
    grpc::ByteBuffer bytes_;
  };
};

class CallCountingTest : public ::testing::Test {
 protected:
  void Start(CountsOfPeer counts_of) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    std::vector<std::unique_ptr<ServerInterceptorFactoryInterface>> interceptors;
    interceptors.push_back(CountCalls(std::move(counts_of)));
    builder.RegisterService(&service_);
    builder.experimental().SetInterceptorCreators(std::move(interceptors));
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    channel_ = grpc::CreateChannel(absl::StrCat("127.0.0.1:", port),
                                   grpc::InsecureChannelCredentials());
  }
  void TearDown() override {
    if (server_ != nullptr) server_->Shutdown();
  }

  void AwaitOpen(int64_t calls) const {
    while (counts_->open != calls) poll(nullptr, 0, 1);
  }

  OneOfEach service_;
  const std::shared_ptr<CallCounts> counts_ = std::make_shared<CallCounts>();
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(CallCountingTest, ACallAndItsMessageClaimBytesAndItIsOpenUntilItEnds) {
  Mutex mutex;
  std::string peer;
  Start([&](const std::string& of) {
    MutexLock lock(mutex);
    peer = of;
    return counts_;
  });
  {
    RawGrpcCall watch(channel_, "/grpc.health.v1.Health/Watch", "");
    ASSERT_TRUE(watch.Read().has_value());
    EXPECT_EQ(counts_->open, 1);
    const uint64_t claimed = counts_->claimed;
    EXPECT_THAT(claimed, AllOf(Gt(512U), Lt(4096U)));
    RawGrpcCall check(channel_, "/grpc.health.v1.Health/Check", "");
    ASSERT_TRUE(check.Read().has_value());
    EXPECT_TRUE(check.Finish().ok());
    AwaitOpen(1);
    EXPECT_GT(counts_->claimed, claimed + 512);
  }
  AwaitOpen(0);
  MutexLock lock(mutex);
  EXPECT_THAT(peer, StartsWith("ipv4:127.0.0.1:"));
}

TEST_F(CallCountingTest, AMessageClaimsWhatItTook) {
  Start([this](const std::string&) { return counts_; });
  constexpr size_t kLength = 1'000'000;
  v1::GetJobRequest request;
  request.set_name(std::string(kLength, 'x'));
  const std::string raw = request.SerializeAsString();
  for (const char* method : {"GetJob", "Ingest"}) {
    const uint64_t before = counts_->claimed;
    RawGrpcCall call(channel_, absl::StrCat("/evenpack.v1.PackingService/", method),
                     raw);
    while (call.Read().has_value()) {
    }
    EXPECT_TRUE(call.Finish().ok()) << method;
    AwaitOpen(0);
    EXPECT_THAT(counts_->claimed - before,
                AllOf(Gt(raw.size()), Lt(raw.size() + kLength / 20)))
        << method;
  }
}

TEST_F(CallCountingTest, AMessageThatCannotBeReadClaimsLittle) {
  Start([this](const std::string&) { return counts_; });
  RawGrpcCall call(channel_, "/evenpack.v1.PackingService/GetJob",
                   std::string(100'000, '\xff'));
  EXPECT_FALSE(call.Read().has_value());
  EXPECT_FALSE(call.Finish().ok());
  AwaitOpen(0);
  EXPECT_LT(counts_->claimed, 4096U);
}

TEST_F(CallCountingTest, AConnectionHasFewCallsOfGrpcsOwnServicesAtATime) {
  Start([this](const std::string&) { return counts_; });
  constexpr char kWatch[] = "/grpc.health.v1.Health/Watch";
  std::list<RawGrpcCall> watches;
  for (int i = 0; i < 16; ++i) {
    ASSERT_TRUE(watches.emplace_back(channel_, kWatch, "").Read().has_value());
  }
  for (int i = 0; i < 3; ++i) {
    RawGrpcCall more(channel_, kWatch, "");
    while (more.Read().has_value()) {
    }
    EXPECT_EQ(more.Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  // The API's are others.
  RawGrpcCall call(channel_, "/evenpack.v1.PackingService/GetJob", "");
  EXPECT_TRUE(call.Read().has_value());
  EXPECT_TRUE(call.Finish().ok());
  watches.pop_front();
  AwaitOpen(15);
  EXPECT_TRUE(watches.emplace_back(channel_, kWatch, "").Read().has_value());
}

TEST_F(CallCountingTest, CallsOfAPeerWithoutCountsAreServed) {
  Start([](const std::string&) { return nullptr; });
  RawGrpcCall check(channel_, "/grpc.health.v1.Health/Check", "");
  EXPECT_TRUE(check.Read().has_value());
  EXPECT_TRUE(check.Finish().ok());
}

}  // namespace
}  // namespace evenpack
