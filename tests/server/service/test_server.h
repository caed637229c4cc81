// The service in this process, over a store that can fail, and clients of its streams.
#ifndef EVENPACK_TESTS_SERVER_SERVICE_TEST_SERVER_H_
#define EVENPACK_TESTS_SERVER_SERVICE_TEST_SERVER_H_

#include <evenpack/v1/cost_profile.grpc.pb.h>
#include <evenpack/v1/packing_service.grpc.pb.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/runtime/worker_pool.h"
#include "server/service/calibration_conversion.h"
#include "server/service/service_environment.h"
#include "server/service/spec_conversion.h"
#include "tests/testing/control_room.h"
#include "tests/testing/shared_server.h"

namespace evenpack::testing {

class TestServer {
 public:
  static constexpr size_t kMaxJobs = 3;

  // `max_calls`: streaming calls of each kind that it holds. One that has ended for its
  // client may be there a moment longer.
  explicit TestServer(bool commit_waits = true, size_t max_calls = 1000,
                      const QuotaLimits& quotas = kDefaultQuotaLimits);
  // One of several over a shared store.
  explicit TestServer(SharedServer& shared);
  // Calls that are still open are cancelled.
  ~TestServer();

  v1::PackingService::Stub& stub() { return *stub_; }
  v1::CostProfileService::Stub& profile_stub() { return *profile_stub_; }
  ControlRoom& room() { return shared_ == nullptr ? room_ : shared_->room(); }
  JobRegistry& jobs() { return shared_ == nullptr ? jobs_ : shared_->jobs(); }
  StreamCalls& calls() { return calls_; }
  // One thread.
  WorkerPool& file_readers() { return file_readers_; }
  CostProfileRegistry& profiles() {
    return shared_ == nullptr ? *profiles_ : shared_->profiles();
  }
  const ErrorCounts& errors() const { return errors_; }
  const CallQuotas& quotas() const { return quotas_; }
  ServiceEnvironment environment() {
    Directory* const directory = shared_ == nullptr ? nullptr : &shared_->directory();
    return {jobs(),     calls_,  messages_, connects_, errors_,
            profiles(), quotas_, nullptr,   directory, &file_readers_};
  }

  // The unary calls; `response` may be left out.
  grpc::Status Create(const std::string& name, const v1::JobSpec& spec,
                      v1::Job* job = nullptr);
  grpc::Status Delete(const std::string& name);
  // Fails the test where there is no such job.
  v1::Job Get(const std::string& name);
  grpc::Status Acknowledge(const std::string& job, uint32_t dp_rank, uint64_t step,
                           uint64_t epoch = 0);
  // Returns once no streaming call is left.
  void WaitUntilNoCalls();

 private:
  TestServer(SharedServer* shared, bool commit_waits, size_t max_calls,
             const QuotaLimits& quotas);

  // As the server has it.
  ControlEnvironment job_environment() {
    room_.SetTokensTravel(TokensTravel);
    room_.SetCalibration({CostScalesOf, IsSelfCalibrating, DescribeWith});
    return room_.environment();
  }

  // Null where it has a store of its own.
  SharedServer* const shared_;
  ControlRoom room_;
  const std::shared_ptr<CostProfileRegistry> profiles_ =
      std::make_shared<CostProfileRegistry>(room_.committer(), room_.store(),
                                            room_.clock());
  JobRegistry jobs_{job_environment(), kMaxJobs};
  StreamCalls calls_;
  StepMessages messages_{1 << 20};
  ConnectMessages connects_;
  ErrorCounts errors_;
  CallQuotas quotas_;
  WorkerPool file_readers_{1};
  std::unique_ptr<grpc::Service> service_;
  std::unique_ptr<grpc::Service> profile_service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::PackingService::Stub> stub_;
  std::unique_ptr<v1::CostProfileService::Stub> profile_stub_;
};

// A call of Ingest. Cancelled where it isn't finished.
class IngestClient {
 public:
  explicit IngestClient(TestServer& server)
      : stream_(server.stub().Ingest(&context_)) {}
  // Opens the stream and takes the first answer, which must be there.
  IngestClient(TestServer& server, const std::string& job,
               const std::string& stream = "a");
  ~IngestClient();

  bool Write(const v1::IngestRequest& request) { return stream_->Write(request); }
  bool Open(const std::string& job, const std::string& stream = "a");
  bool Send(uint64_t first_sequence, const std::vector<uint32_t>& lengths);
  bool End(uint64_t documents);
  // None where the call has ended.
  std::optional<v1::IngestResponse> Read();
  // Answers until one says that so many are accepted; fails the test where none does.
  void ReadUntil(uint64_t next_sequence);
  void WritesDone() { stream_->WritesDone(); }
  // What the call ends with; answers that were not read are passed over.
  grpc::Status Finish();
  void Cancel() { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::IngestRequest, v1::IngestResponse>>
      stream_;
  bool finished_ = false;
};

// A call of StreamSteps. Cancelled where it isn't finished.
class StepsClient {
 public:
  explicit StepsClient(TestServer& server)
      : stream_(server.stub().StreamSteps(&context_)) {}
  // Subscribes.
  StepsClient(TestServer& server, const v1::Subscribe& subscribe);
  ~StepsClient();

  bool Write(const v1::StreamStepsRequest& request) { return stream_->Write(request); }
  bool Subscribe(const v1::Subscribe& subscribe);
  bool Received(uint64_t step);
  bool Durable(uint64_t step, uint64_t epoch = 0);
  // None where the call has ended.
  std::optional<v1::StreamStepsResponse> Read();
  // The next message, which must be of that kind; else the test fails.
  v1::Subscribed ReadSubscribed();
  v1::Step ReadStep();
  v1::Drained ReadDrained();
  uint64_t ReadMarked();
  void WritesDone() { stream_->WritesDone(); }
  grpc::Status Finish();
  void Cancel() { context_.TryCancel(); }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::StreamStepsRequest, v1::StreamStepsResponse>>
      stream_;
  bool finished_ = false;
};

// Of job "job", rank 0.
v1::Subscribe SubscribeTo(const std::string& job, uint32_t dp_rank = 0);

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_SERVICE_TEST_SERVER_H_
