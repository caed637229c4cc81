// The stub over gRPC and a server in this process.
#include "client/cpp/grpc_stub.h"

#include <gmock/gmock.h>
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/cpp/error_details.h"
#include "client/cpp/retrying_connection.h"
#include "server/runtime/mutex.h"
#include "tests/client/cpp/scripted_service.h"
#include "tests/client/cpp/test_history.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::ScriptedServer;
using ::evenpack::testing::ScriptedService;
using ::evenpack::testing::StatusIs;
using ::evenpack::testing::TestHistory;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

const CallOptions kUnhurried{std::chrono::minutes(5), {}};

grpc::Status Refusal() {
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  info.set_reason("JOB_NOT_FOUND");
  info.set_domain("evenpack");
  details.add_details()->PackFrom(info);
  return {grpc::StatusCode::NOT_FOUND, "name: 'run'", details.SerializeAsString()};
}

// Something that happens once or more.
class Event {
 public:
  void Set() {
    MutexLock lock(mutex_);
    set_ = true;
    changed_.SignalAll();
  }
  void Await() {
    MutexLock lock(mutex_);
    while (!set_) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool set_ EVENPACK_GUARDED_BY(mutex_) = false;
};

class GrpcStubTest : public ::testing::Test {
 protected:
  GrpcStubTest() {
    options_.address = server_.address();
    options_.backoff.initial = milliseconds(1);
  }
  ~GrpcStubTest() override {
    released_.Set();
    server_.Stop();
  }

  void Start() {
    server_.Start();
    stub_ = MakeGrpcStub(MakeGrpcChannel(options_));
  }

  ScriptedServer server_;
  ScriptedService& service_ = server_.service();
  ClientOptions options_;
  std::shared_ptr<Stub> stub_;
  // What handlers may wait for or tell, for as long as the server runs.
  Event arrived_;
  Event released_;
  Event cancelled_;
};

TEST_F(GrpcStubTest, EveryUnaryCallArrivesAndIsAnswered) {
  service_.create_job = [](const auto& request, auto& response) {
    response.mutable_job()->set_name(request.name() + "!");
    return grpc::Status::OK;
  };
  service_.get_job = [](const auto& request, auto& response) {
    response.mutable_job()->set_name(request.name() + "?");
    return grpc::Status::OK;
  };
  service_.list_jobs = [](const auto& request, auto& response) {
    response.set_next_page_token(request.page_token() + "+");
    return grpc::Status::OK;
  };
  service_.update_job = [](const auto& request, auto& response) {
    response.mutable_job()->set_epoch(request.expected_epoch() + 1);
    return grpc::Status::OK;
  };
  service_.delete_job = [](const auto& request, auto&) {
    return request.name() == "run" ? grpc::Status::OK : Refusal();
  };
  service_.get_step = [](const auto& request, auto& response) {
    response.mutable_step()->set_index(request.step());
    return grpc::Status::OK;
  };
  service_.acknowledge = [](const auto& request, auto& response) {
    response.set_durable_steps(request.step() + 1);
    return grpc::Status::OK;
  };
  service_.report_latency = [](const auto& request, auto& response) {
    response.add_predicted_forward_ns(request.micro_batches(0).forward_ns());
    return grpc::Status::OK;
  };
  service_.observe_job = [](const auto& request, auto& response) {
    response.set_producers(request.steps());
    return grpc::Status::OK;
  };
  service_.observe_micro_batch = [](const auto& request, auto& response) {
    response.mutable_micro_batch()->set_index(request.micro_batch());
    return grpc::Status::OK;
  };
  Start();

  v1::CreateJobRequest create;
  create.set_name("a");
  EXPECT_EQ(stub_->CreateJob(create, kUnhurried)->job().name(), "a!");
  v1::GetJobRequest get;
  get.set_name("a");
  EXPECT_EQ(stub_->GetJob(get, kUnhurried)->job().name(), "a?");
  v1::ListJobsRequest list;
  list.set_page_token("t");
  EXPECT_EQ(stub_->ListJobs(list, kUnhurried)->next_page_token(), "t+");
  v1::UpdateJobRequest update;
  update.set_expected_epoch(6);
  EXPECT_EQ(stub_->UpdateJob(update, kUnhurried)->job().epoch(), 7U);
  v1::DeleteJobRequest remove;
  remove.set_name("run");
  EXPECT_THAT(stub_->DeleteJob(remove, kUnhurried), IsOk());
  v1::GetStepRequest step;
  step.set_step(9);
  EXPECT_EQ(stub_->GetStep(step, kUnhurried)->step().index(), 9U);
  v1::AcknowledgeRequest acknowledge;
  acknowledge.set_step(9);
  EXPECT_EQ(stub_->Acknowledge(acknowledge, kUnhurried)->durable_steps(), 10U);
  v1::ReportLatencyRequest report;
  report.add_micro_batches()->set_forward_ns(5);
  EXPECT_EQ(stub_->ReportLatency(report, kUnhurried)->predicted_forward_ns(0), 5);
  v1::ObserveJobRequest job;
  job.set_steps(7);
  EXPECT_EQ(stub_->ObserveJob(job, kUnhurried)->producers(), 7U);
  v1::ObserveMicroBatchRequest micro_batch;
  micro_batch.set_micro_batch(3);
  EXPECT_EQ(stub_->ObserveMicroBatch(micro_batch, kUnhurried)->micro_batch().index(),
            3U);
}

TEST_F(GrpcStubTest, AnErrorHasItsCodeMessageAndDetails) {
  service_.get_job = [](const auto&, auto&) { return Refusal(); };
  Start();
  const absl::Status status = stub_->GetJob({}, kUnhurried).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, "name: 'run'"));
  EXPECT_EQ(DetailsOf(status).reason, "JOB_NOT_FOUND");
  EXPECT_EQ(DetailsOf(status).domain, "evenpack");
}

TEST_F(GrpcStubTest, ACallThatTheServerDoesNotHaveSaysSo) {
  Start();
  EXPECT_THAT(stub_->ForkJob({}, kUnhurried), StatusIs(absl::StatusCode::kUnimplemented,
                                                       HasSubstr("has no such call")));
}

TEST_F(GrpcStubTest, ACallEndsAtItsDeadlineAndNamesTheServer) {
  service_.get_job = [this](const auto&, auto&) {
    released_.Await();
    return grpc::Status::OK;
  };
  Start();
  EXPECT_THAT(stub_->GetJob({}, {milliseconds(20), {}}),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr(server_.address()),
                             HasSubstr("did not answer within 20ms"))));
}

TEST_F(GrpcStubTest, ACallEndsWhenItIsStopped) {
  service_.get_job = [this](const auto&, auto&) {
    arrived_.Set();
    released_.Await();
    return grpc::Status::OK;
  };
  Start();
  std::stop_source stop;
  std::thread calling([this, token = stop.get_token()] {
    EXPECT_THAT(stub_->GetJob({}, {std::chrono::minutes(5), token}),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("")));
  });
  arrived_.Await();
  stop.request_stop();
  calling.join();
}

TEST_F(GrpcStubTest, WithoutAServerCallsAreUnavailable) {
  stub_ = MakeGrpcStub(MakeGrpcChannel(options_));
  EXPECT_THAT(stub_->GetJob({}, kUnhurried),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("")));
  const auto stream = stub_->StreamSteps({});
  v1::StreamStepsResponse response;
  EXPECT_FALSE(stream->Read(response));
  EXPECT_THAT(stream->Finish(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("")));
}

TEST_F(GrpcStubTest, MessagesAreBoundedByTheOptions) {
  constexpr size_t kLarge = 9 << 20;
  service_.get_job = [](const auto&, auto& response) {
    response.mutable_job()->set_name(std::string(kLarge, 'x'));
    return grpc::Status::OK;
  };
  Start();
  EXPECT_EQ(stub_->GetJob({}, kUnhurried)->job().name().size(), kLarge);
  options_.max_message_bytes = 1 << 20;
  stub_ = MakeGrpcStub(MakeGrpcChannel(options_));
  EXPECT_THAT(stub_->GetJob({}, kUnhurried),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("larger than")));
}

// Answers each batch with the number of the document after it.
grpc::Status Acknowledging(grpc::ServerContext&, ScriptedService::IngestCall& call) {
  v1::IngestRequest request;
  while (call.Read(&request)) {
    v1::IngestResponse response;
    response.set_next_sequence(request.batch().first_sequence() + 1);
    call.Write(response);
  }
  return grpc::Status::OK;
}

v1::IngestRequest Batch(uint64_t first_sequence) {
  v1::IngestRequest request;
  request.mutable_batch()->set_first_sequence(first_sequence);
  return request;
}

TEST_F(GrpcStubTest, AStreamCarriesMessagesBothWaysInOrder) {
  service_.ingest = Acknowledging;
  Start();
  const auto stream = stub_->Ingest({});
  constexpr uint64_t kMessages = 2000;
  for (uint64_t i = 0; i < kMessages; ++i) stream->Write(Batch(i));
  stream->WritesDone();
  stream->Write(Batch(kMessages));
  v1::IngestResponse response;
  for (uint64_t i = 0; i < kMessages; ++i) {
    ASSERT_TRUE(stream->Read(response));
    EXPECT_EQ(response.next_sequence(), i + 1);
  }
  stream->AwaitUnsentBelow(1);
  EXPECT_EQ(stream->unsent(), 0U);
  EXPECT_FALSE(stream->Read(response));
  EXPECT_FALSE(stream->Read(response));
  EXPECT_THAT(stream->Finish(), IsOk());
  EXPECT_THAT(stream->Finish(), IsOk());
}

TEST_F(GrpcStubTest, AStreamEndsWithTheServersError) {
  service_.ingest = [](auto&, auto& call) {
    v1::IngestResponse response;
    response.set_next_sequence(3);
    call.Write(response);
    return Refusal();
  };
  Start();
  const auto stream = stub_->Ingest({});
  v1::IngestResponse response;
  EXPECT_TRUE(stream->Read(response));
  EXPECT_EQ(response.next_sequence(), 3U);
  EXPECT_FALSE(stream->Read(response));
  const absl::Status status = stream->Finish();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, "name: 'run'"));
  EXPECT_EQ(DetailsOf(status).reason, "JOB_NOT_FOUND");
  stream->Write(Batch(0));
  stream->WritesDone();
  stream->AwaitUnsentBelow(1);
}

// A server that sends nothing and reads until the client is gone.
class SilentStreamTest : public GrpcStubTest {
 protected:
  SilentStreamTest() {
    service_.stream_steps = [this](auto& context, auto& call) {
      arrived_.Set();
      v1::StreamStepsRequest request;
      while (call.Read(&request)) {
      }
      if (context.IsCancelled()) cancelled_.Set();
      return grpc::Status::OK;
    };
    Start();
  }
};

TEST_F(SilentStreamTest, StoppingEndsARead) {
  std::stop_source stop;
  const auto stream = stub_->StreamSteps(stop.get_token());
  std::thread reading([&stream] {
    v1::StreamStepsResponse response;
    EXPECT_FALSE(stream->Read(response));
    EXPECT_THAT(stream->Finish(),
                StatusIs(absl::StatusCode::kCancelled, HasSubstr("")));
  });
  arrived_.Await();
  stop.request_stop();
  reading.join();
  cancelled_.Await();
}

TEST_F(SilentStreamTest, AStopThatCameBeforeEndsItToo) {
  std::stop_source stop;
  stop.request_stop();
  const auto stream = stub_->StreamSteps(stop.get_token());
  v1::StreamStepsResponse response;
  EXPECT_FALSE(stream->Read(response));
  EXPECT_THAT(stream->Finish(), StatusIs(absl::StatusCode::kCancelled, HasSubstr("")));
}

TEST_F(SilentStreamTest, DestroyingAStreamCancelsIt) {
  auto stream = stub_->StreamSteps({});
  arrived_.Await();
  stream.reset();
  cancelled_.Await();
}

TEST_F(SilentStreamTest, DestroyingAStreamAfterAWriteCancelsIt) {
  auto stream = stub_->StreamSteps({});
  stream->Write({});
  stream.reset();
  stub_->StreamSteps({});
}

// A server that reads only when the test says so.
TEST_F(GrpcStubTest, MessagesThatTheServerDoesNotReadWaitHere) {
  service_.ingest = [this](auto& context, auto& call) {
    released_.Await();
    return Acknowledging(context, call);
  };
  Start();
  const auto stream = stub_->Ingest({});
  v1::IngestRequest large = Batch(0);
  large.mutable_batch()->set_token_ids(std::string(1 << 20, 'x'));
  constexpr size_t kMessages = 64;
  for (size_t i = 0; i < kMessages; ++i) stream->Write(large);
  EXPECT_GT(stream->unsent(), kMessages / 2);
  released_.Set();
  stream->AwaitUnsentBelow(2);
  EXPECT_LT(stream->unsent(), 2U);
}

TEST_F(GrpcStubTest, StoppingEndsAWaitForTheTransport) {
  service_.ingest = [this](auto&, auto&) {
    released_.Await();
    return grpc::Status::OK;
  };
  Start();
  std::stop_source stop;
  const auto stream = stub_->Ingest(stop.get_token());
  v1::IngestRequest large;
  large.mutable_batch()->set_token_ids(std::string(16 << 20, 'x'));
  for (int i = 0; i < 4; ++i) stream->Write(large);
  std::thread waiting([&stream] { stream->AwaitUnsentBelow(1); });
  stop.request_stop();
  waiting.join();
}

// The whole client, through a server that goes away in the middle.
class WholeClientTest : public GrpcStubTest {
 protected:
  std::shared_ptr<Connection> Connect() {
    Start();
    return MakeRetryingConnection(stub_, options_);
  }

  const TestHistory history_{8};
};

TEST_F(WholeClientTest, AConsumerGoesOnWhenTheServerComesBack) {
  std::vector<v1::Subscribe> subscribed;
  service_.stream_steps = [&](auto&, ScriptedService::StepCall& call) {
    v1::StreamStepsRequest request;
    call.Read(&request);
    subscribed.push_back(request.subscribe());
    uint64_t index = request.subscribe().from_step();
    call.Write(history_.Subscribed(index));
    const uint64_t end = index == 0 ? 3 : history_.size();
    for (; index < end; ++index) call.Write(history_.Step(index));
    if (end == history_.size()) call.Write(history_.Drained());
    while (call.Read(&request)) {
    }
    return grpc::Status::OK;
  };
  const auto connection = Connect();
  ConsumerOptions options;
  options.job = "run";
  options.report_interval = milliseconds(0);
  const auto consumer = connection->OpenConsumer(options);
  ASSERT_THAT(consumer, IsOk());
  for (uint64_t index = 0; index < history_.size(); ++index) {
    const auto step = (*consumer)->Next();
    ASSERT_THAT(step, IsOk());
    ASSERT_TRUE(step->has_value());
    EXPECT_EQ((*step)->index(), index);
    if (index == 2) {
      server_.Stop();
      server_.Start();
    }
  }
  const auto end = (*consumer)->Next();
  ASSERT_THAT(end, IsOk());
  EXPECT_FALSE(end->has_value());
  server_.Stop();
  ASSERT_EQ(subscribed.size(), 2U);
  EXPECT_EQ(subscribed[1].from_step(), 3U);
}

TEST_F(WholeClientTest, AProducersDocumentsArriveOnceWhenTheServerComesBack) {
  // Documents of the stream; the first call ends when it has half of them.
  std::vector<uint32_t> lengths;
  bool ended = false;
  service_.ingest = [&](auto&, ScriptedService::IngestCall& call) {
    v1::IngestRequest request;
    v1::IngestResponse response;
    const bool first = lengths.empty();
    while (call.Read(&request)) {
      if (request.has_batch()) {
        const v1::DocumentBatch& batch = request.batch();
        EXPECT_LE(batch.first_sequence(), lengths.size());
        const auto known = static_cast<int>(lengths.size() - batch.first_sequence());
        for (int i = known; i < batch.length_size(); ++i) {
          lengths.push_back(batch.length(i));
        }
      }
      ended = ended || request.has_end_of_stream();
      if (first && lengths.size() >= 5000) {
        return grpc::Status(grpc::StatusCode::UNAVAILABLE, "draining");
      }
      response.set_next_sequence(lengths.size());
      response.set_ended(ended);
      call.Write(response);
    }
    return grpc::Status::OK;
  };
  const auto connection = Connect();
  ProducerOptions options;
  options.job = "run";
  options.stream = "web";
  options.batch_documents = 64;
  options.max_unaccepted_documents = 640;
  const auto producer = connection->OpenProducer(options);
  ASSERT_THAT(producer, IsOk());
  std::vector<uint32_t> sent;
  for (uint32_t i = 0; i < 1000; ++i) {
    DocumentColumns documents;
    for (uint32_t k = 0; k < 10; ++k) documents.length.push_back(1 + i * 10 + k);
    sent.insert(sent.end(), documents.length.begin(), documents.length.end());
    ASSERT_THAT((*producer)->Add(documents), IsOk());
  }
  EXPECT_THAT((*producer)->EndOfStream(), IsOk());
  server_.Stop();
  EXPECT_EQ(lengths, sent);
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace evenpack::client
