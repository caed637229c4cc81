// A peer that keeps thousands of unary calls under way delays no step of another job.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "evenpack/v1/packing_service.grpc.pb.h"
#include "server/app/packing_server.h"
#include "server/runtime/mutex.h"
#include "tests/server/app/served_job.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::IsOk;

constexpr uint64_t kCalls = 2000;
constexpr uint64_t kMostOfAPeer = 64;
constexpr uint64_t kSteps = 40;
// A step that waited its turn behind all calls of the flood would see one such round of
// answers for each message of its way: documents, a commit's answer, the step.
constexpr uint64_t kMostRounds = 20;

// So many calls of GetJob under way at all times, until it ends.
class Flood {
 public:
  Flood(const std::string& address, std::string job)
      : job_(std::move(job)), stub_(StubOf(address)) {
    for (uint64_t i = 0; i < kCalls; ++i) Begin();
  }
  ~Flood() {
    MutexLock lock(mutex_);
    stopping_ = true;
    while (under_way_ > 0) ended_.Wait(mutex_);
  }
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;

  // Returns once a call was answered.
  void AwaitAnswer() {
    MutexLock lock(mutex_);
    while (answers_ == 0) ended_.Wait(mutex_);
  }
  uint64_t answers() const { return answers_; }
  bool wrong() const { return wrong_; }

 private:
  struct Call {
    grpc::ClientContext context;
    v1::GetJobRequest request;
    v1::GetJobResponse response;
  };

  static std::unique_ptr<v1::PackingService::Stub> StubOf(const std::string& address) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::PackingService::NewStub(grpc::CreateCustomChannel(
        address, grpc::InsecureChannelCredentials(), arguments));
  }

  void Begin() {
    {
      MutexLock lock(mutex_);
      if (stopping_) return;
      ++under_way_;
    }
    const auto call = std::make_shared<Call>();
    call->request.set_name(job_);
    stub_->async()->GetJob(&call->context, &call->request, &call->response,
                           [this, call](const grpc::Status& status) { End(status); });
  }

  void End(const grpc::Status& status) {
    ++answers_;
    const bool refused = status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
    if (!status.ok() && !refused) wrong_ = true;
    Begin();
    MutexLock lock(mutex_);
    --under_way_;
    ended_.SignalAll();
  }

  const std::string job_;
  const std::unique_ptr<v1::PackingService::Stub> stub_;
  std::atomic<uint64_t> answers_ = 0;
  std::atomic<bool> wrong_ = false;
  Mutex mutex_;
  CondVar ended_;
  uint64_t under_way_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool stopping_ EVENPACK_GUARDED_BY(mutex_) = false;
};

class CallFloodTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.http_listen = "";
    options.quotas[static_cast<size_t>(Quota::kPeerCalls)] = kMostOfAPeer;
    auto server = PackingServer::Start(options);
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    stub_ = testing::StubAt(server_->grpc_address());
    for (const char* job : {"flooded", "trained"}) {
      ASSERT_TRUE(testing::CreateJobAt(*stub_, job).ok());
    }
  }

  std::unique_ptr<PackingServer> server_;
  std::unique_ptr<v1::PackingService::Stub> stub_;
};

TEST_F(CallFloodTest, AnotherJobsSubscriberGetsEachStep) {
  grpc::ClientContext steps_context;
  const auto steps = stub_->StreamSteps(&steps_context);
  v1::StreamStepsRequest subscribe;
  subscribe.mutable_subscribe()->set_job("trained");
  subscribe.mutable_subscribe()->set_credits(1000);
  ASSERT_TRUE(steps->Write(subscribe));
  v1::StreamStepsResponse response;
  ASSERT_TRUE(steps->Read(&response));
  grpc::ClientContext ingest_context;
  const auto ingest = stub_->Ingest(&ingest_context);
  v1::IngestRequest request;
  request.mutable_open()->set_job("trained");
  request.mutable_open()->set_stream("a");
  ASSERT_TRUE(ingest->Write(request));

  Flood flood(server_->grpc_address(), "flooded");
  flood.AwaitAnswer();
  // A step's documents.
  const std::vector<uint32_t> lengths(8, 50);
  for (uint64_t step = 0; step < kSteps; ++step) {
    const uint64_t before = flood.answers();
    v1::IngestRequest batch;
    batch.mutable_batch()->set_first_sequence(step * lengths.size());
    batch.mutable_batch()->mutable_length()->Add(lengths.begin(), lengths.end());
    ASSERT_TRUE(ingest->Write(batch));
    ASSERT_TRUE(steps->Read(&response));
    ASSERT_EQ(response.step().index(), step);
    EXPECT_LT(flood.answers() - before, kMostRounds * kCalls) << step;
  }
  EXPECT_FALSE(flood.wrong());
  steps_context.TryCancel();
  ingest_context.TryCancel();
}

}  // namespace
}  // namespace evenpack
