#include "server/service/stream_call.h"

#include <evenpack/v1/packing_service.grpc.pb.h>
#include <gmock/gmock.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/service/message_bytes.h"
#include "tests/server/service/status_details.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using testing::GrpcStatusIs;
using testing::IsGrpcOk;
using ::testing::SizeIs;

// What the calls of a test do, and what became of them.
struct Observed {
  Mutex mutex;
  absl::Status admitted EVENPACK_GUARDED_BY(mutex);
  bool may_finish EVENPACK_GUARDED_BY(mutex) = true;
  int left EVENPACK_GUARDED_BY(mutex) = 0;
  int writes EVENPACK_GUARDED_BY(mutex) = 0;
  int most_writes EVENPACK_GUARDED_BY(mutex) = 0;
  std::vector<absl::Status> finished EVENPACK_GUARDED_BY(mutex);
};

// Answers each message by how many have come, and ends when the client has said all.
class CountingCall final : public StreamCall {
 public:
  CountingCall(LiveCalls& calls, Observed& observed)
      : StreamCall(calls), observed_(observed) {}

  using StreamCall::End;
  using StreamCall::Pump;
  using StreamCall::ReadNext;

  void Drain() override { End(absl::UnavailableError("drained")); }

  void HoldReads() {
    MutexLock lock(mutex_);
    holds_reads_ = true;
  }
  void AwaitMessages(uint64_t messages) {
    MutexLock lock(mutex_);
    while (came_ < messages) came_changed_.Wait(mutex_);
  }
  void SayThatAReadIsNext() {
    MutexLock lock(mutex_);
    ReadIsNext();
  }

 private:
  void ReadDone(bool ok) override {
    {
      MutexLock lock(mutex_);
      if (ok) ++came_;
      half_closed_ = !ok;
      came_changed_.SignalAll();
      if (holds_reads_) return;
    }
    Pump();
    if (ok) Read();
  }

  absl::Status Admit() override {
    MutexLock lock(observed_.mutex);
    return observed_.admitted;
  }
  absl::Status TooMany(const LiveCalls& calls) override {
    return absl::ResourceExhaustedError(std::to_string(calls.limit()));
  }
  bool TakeNext() override EVENPACK_REQUIRES(mutex_) {
    if (answered_ < came_ && !ending_.has_value()) {
      v1::IngestResponse response;
      response.set_next_sequence(++answered_);
      response_ = MessageBytes(response);
      MutexLock lock(observed_.mutex);
      observed_.most_writes = std::max(observed_.most_writes, ++observed_.writes);
      return true;
    }
    if (half_closed_ && !ending_.has_value()) ending_ = absl::OkStatus();
    return false;
  }
  bool MayFinish() override EVENPACK_REQUIRES(mutex_) {
    MutexLock lock(observed_.mutex);
    return observed_.may_finish;
  }
  void Written(bool /*ok*/) override {
    MutexLock lock(observed_.mutex);
    --observed_.writes;
  }
  void FinishWith(const absl::Status& status) override {
    {
      MutexLock lock(observed_.mutex);
      observed_.finished.push_back(status);
    }
    Finish(
        {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())});
  }
  void Left() override {
    MutexLock lock(observed_.mutex);
    ++observed_.left;
  }

  Observed& observed_;
  CondVar came_changed_;
  uint64_t came_ EVENPACK_GUARDED_BY(mutex_) = 0;
  uint64_t answered_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool half_closed_ EVENPACK_GUARDED_BY(mutex_) = false;
  // No read is begun by itself any more.
  bool holds_reads_ EVENPACK_GUARDED_BY(mutex_) = false;
};

// Whatever is called is a CountingCall.
class CountingService final : public grpc::CallbackGenericService {
 public:
  CountingService(LiveCalls& calls, Observed& observed)
      : calls_(calls), observed_(observed) {}

  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* /*context*/) override {
    const auto call = std::make_shared<CountingCall>(calls_, observed_);
    {
      MutexLock lock(mutex_);
      last_ = call;
    }
    call->Start();
    return call.get();
  }

  std::shared_ptr<CountingCall> last() {
    MutexLock lock(mutex_);
    return last_;
  }

 private:
  LiveCalls& calls_;
  Observed& observed_;
  Mutex mutex_;
  std::shared_ptr<CountingCall> last_ EVENPACK_GUARDED_BY(mutex_);
};

class StreamCallTest : public ::testing::Test {
 protected:
  StreamCallTest() {
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(&service_);
    server_ = builder.BuildAndStart();
    stub_ = v1::PackingService::NewStub(server_->InProcessChannel({}));
  }
  ~StreamCallTest() override { server_->Shutdown(std::chrono::system_clock::now()); }

  struct Client {
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::IngestRequest, v1::IngestResponse>>
        stream;

    bool Write() { return stream->Write({}); }
    uint64_t Read() {
      v1::IngestResponse response;
      return stream->Read(&response) ? response.next_sequence() : 0;
    }
    // gRPC tells no end before all is read.
    grpc::Status Finish() {
      while (Read() != 0) {
      }
      return stream->Finish();
    }
  };
  std::unique_ptr<Client> Call() {
    auto client = std::make_unique<Client>();
    client->stream = stub_->Ingest(&client->context);
    return client;
  }
  // That of a client whose first message was answered.
  std::shared_ptr<CountingCall> Answered(Client& client) {
    EXPECT_TRUE(client.Write());
    EXPECT_EQ(client.Read(), 1);
    return service_.last();
  }
  void AwaitNone() { calls_.WaitUntilNone(std::chrono::seconds(60)); }
  std::vector<absl::Status> finished() {
    MutexLock lock(observed_.mutex);
    return observed_.finished;
  }
  int left() {
    MutexLock lock(observed_.mutex);
    return observed_.left;
  }
  void LetFinish(bool may) {
    MutexLock lock(observed_.mutex);
    observed_.may_finish = may;
  }

  Observed observed_;
  LiveCalls calls_{2};
  CountingService service_{calls_, observed_};
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::PackingService::Stub> stub_;
};

TEST_F(StreamCallTest, WritesOneAnswerAtATimeAndEndsBehindThem) {
  const auto client = Call();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(client->Write());
  client->stream->WritesDone();
  for (uint64_t i = 1; i <= 100; ++i) EXPECT_EQ(client->Read(), i);
  EXPECT_THAT(client->Finish(), IsGrpcOk());
  AwaitNone();
  EXPECT_EQ(left(), 1);
  MutexLock lock(observed_.mutex);
  EXPECT_EQ(observed_.most_writes, 1);
}

TEST_F(StreamCallTest, OneThatIsNotAdmittedIsNoneOfTheCalls) {
  {
    MutexLock lock(observed_.mutex);
    observed_.admitted = absl::PermissionDeniedError("not you");
  }
  EXPECT_THAT(Call()->Finish(),
              GrpcStatusIs(grpc::StatusCode::PERMISSION_DENIED, "", "not you"));
  EXPECT_EQ(calls_.opened(), 0);
}

TEST_F(StreamCallTest, BeyondAsManyAsMayBeItIsRefused) {
  const auto first = Call();
  const auto second = Call();
  Answered(*first);
  Answered(*second);
  EXPECT_THAT(Call()->Finish(),
              GrpcStatusIs(grpc::StatusCode::RESOURCE_EXHAUSTED, "", "2"));
  first->context.TryCancel();
  second->context.TryCancel();
  AwaitNone();
  EXPECT_EQ(calls_.opened(), 2);
}

TEST_F(StreamCallTest, EndsOnceAsWasSaidFirst) {
  const auto client = Call();
  const auto call = Answered(*client);
  call->End(absl::AbortedError("first"));
  call->End(absl::InternalError("second"));
  EXPECT_THAT(client->Finish(), GrpcStatusIs(grpc::StatusCode::ABORTED, "", "first"));
  AwaitNone();
  EXPECT_THAT(finished(), ElementsAre(absl::AbortedError("first")));
}

TEST_F(StreamCallTest, EndsOnceWhatWasBegunIsOver) {
  LetFinish(false);
  const auto client = Call();
  const auto call = Answered(*client);
  call->End(absl::AbortedError("over"));
  EXPECT_THAT(finished(), ElementsAre());
  LetFinish(true);
  call->Pump();
  EXPECT_THAT(client->Finish(), GrpcStatusIs(grpc::StatusCode::ABORTED, "", "over"));
}

TEST_F(StreamCallTest, IsNotFinishedBetweenTheThoughtOfAReadAndTheRead) {
  const auto client = Call();
  const auto call = Answered(*client);
  call->HoldReads();
  ASSERT_TRUE(client->Write());
  call->AwaitMessages(2);
  call->SayThatAReadIsNext();
  call->End(absl::AbortedError("over"));
  EXPECT_THAT(finished(), ElementsAre());
  std::thread([&call] { call->ReadNext(); }).join();
  EXPECT_THAT(client->Finish(), GrpcStatusIs(grpc::StatusCode::ABORTED, "", "over"));
}

TEST_F(StreamCallTest, IsLeftByAClientThatCancels) {
  const auto client = Call();
  Answered(*client);
  client->context.TryCancel();
  AwaitNone();
  EXPECT_EQ(calls_.size(), 0);
  EXPECT_EQ(left(), 1);
  EXPECT_THAT(finished(), SizeIs(1));
}

}  // namespace
}  // namespace evenpack
