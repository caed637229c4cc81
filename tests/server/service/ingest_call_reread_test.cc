// A producer's call while its job is read anew, in an order that a test decides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "evenpack/v1/packing_service.pb.h"
#include "server/service/ingest_call.h"
#include "server/service/message_bytes.h"
#include "tests/server/service/service_spec.h"
#include "tests/server/service/test_server.h"
#include "tests/testing/awaited.h"
#include "tests/testing/stepped_call.h"

namespace evenpack {
namespace {

using testing::Awaited;
using testing::RestingMark;
using testing::ServiceSpec;
using testing::SteppedCall;
using testing::TestServer;

// Where a thread waits until the test lets it on.
class Gate {
 public:
  void Pass() const {
    reached_(true);
    opened_.Get();
  }
  void AwaitReached() const { reached_.Get(); }
  void Open() const { opened_(true); }

 private:
  Awaited<bool> reached_ = {};
  Awaited<bool> opened_ = {};
};

class IngestCallRereadTest : public ::testing::Test {
 protected:
  IngestCallRereadTest() {
    EXPECT_TRUE(server_.Create("job", ServiceSpec()).ok());
    job_ = server_.jobs().Find("job").value();
    call_.Accept([this](const grpc::ServerContextBase& context) {
      return StartIngestCall(server_.environment(), context);
    });
    v1::IngestRequest open;
    open.mutable_open()->set_job("job");
    open.mutable_open()->set_stream("a");
    Upload(open);
    Until([this] { return call_.CompleteWrite(); });
  }

  static void Until(const std::function<bool()>& done) {
    while (!done()) std::this_thread::yield();
  }
  // What the handler does with it is done when this returns.
  void Upload(const v1::IngestRequest& request) {
    call_.ClientWrite(MessageBytes(request));
    Until([this] { return call_.Upload(); });
  }
  void UploadBatch(uint64_t first_sequence) {
    v1::IngestRequest request;
    request.mutable_batch()->set_first_sequence(first_sequence);
    request.mutable_batch()->add_length(50);
    Upload(request);
  }
  // The committer's thread waits there once all before is committed, or has failed.
  void HoldAnswers(const Gate& gate) {
    job_->Describe([&gate](const absl::StatusOr<JobStatus>&) { gate.Pass(); });
  }
  // The call's end, once it has one.
  grpc::Status Finish() {
    Until([this] { return call_.Conclude(); });
    Until([this] { return !call_.Download(); });
    return call_.ClientFinish();
  }
  WorkerPool& pool() { return server_.room().environment().pool; }

  TestServer server_;
  std::shared_ptr<Job> job_;
  RestingMark mark_;
  SteppedCall call_{mark_};
};

TEST_F(IngestCallRereadTest, WhatIsMissingSinceAJobWasReadAnewIsNoGap) {
  const Gate before;
  const Gate answers;
  const Gate pool_threads[2];
  HoldAnswers(before);
  before.AwaitReached();
  HoldAnswers(answers);
  UploadBatch(0);
  server_.room().store().Block();
  before.Open();
  server_.room().store().WaitUntilBlocked();
  // Decided behind one of which the answer is lost.
  UploadBatch(1);
  for (const Gate& gate : pool_threads) {
    pool().Run([&gate] { gate.Pass(); });
    gate.AwaitReached();
  }
  server_.room().store().LoseAnswer();
  server_.room().store().Release();
  answers.AwaitReached();
  // The job was read anew, with the first batch, and producers are yet to be told.
  UploadBatch(2);
  for (const Gate& gate : pool_threads) gate.Open();
  const Gate told[2];
  for (const Gate& gate : told) pool().Run([&gate] { gate.Pass(); });
  for (const Gate& gate : told) gate.AwaitReached();
  for (const Gate& gate : told) gate.Open();
  answers.Open();
  const grpc::Status end = Finish();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAVAILABLE) << end.error_message();
}

}  // namespace
}  // namespace evenpack
