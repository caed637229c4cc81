// A stub whose calls a test answers line by line: the test is the server.
//
//   FakeStub stub;
//   auto consumer = ...;                      // opens a call in its thread
//   auto call = stub.AwaitStepCall();
//   EXPECT_EQ(call->AwaitMessage().subscribe().job(), "run-7");
//   call->Send(subscribed);
//   call->End(absl::UnavailableError("gone"));
//
// Nothing sleeps: what waits, waits for the other side.
#ifndef EVENPACK_TESTS_CLIENT_CPP_FAKE_STUB_H_
#define EVENPACK_TESTS_CLIENT_CPP_FAKE_STUB_H_

#include <gmock/gmock.h>

#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "absl/status/status.h"
#include "client/cpp/stub.h"
#include "evenpack/v1/cost_profile.pb.h"
#include "evenpack/v1/packing_service.pb.h"
#include "server/runtime/mutex.h"

namespace evenpack::testing {

// Thread-safe; shared by the test and the client's end of the call.
template <typename Request, typename Response>
class FakeCall {
 public:
  // The next message that the client wrote; blocks until there is one.
  Request AwaitMessage() {
    MutexLock lock(mutex_);
    while (written_.empty()) changed_.Wait(mutex_);
    Request message = std::move(written_.front());
    written_.pop_front();
    return message;
  }
  // Messages that the client wrote and the test has not taken.
  size_t messages() const {
    MutexLock lock(mutex_);
    return written_.size();
  }
  // Blocks until the client ended its writing side.
  void AwaitWritesDone() {
    MutexLock lock(mutex_);
    while (!writes_done_) changed_.Wait(mutex_);
  }
  // Blocks until the client has cancelled the call, or has let go of it.
  void AwaitGone() {
    MutexLock lock(mutex_);
    while (!cancelled_ && !gone_) changed_.Wait(mutex_);
  }
  // The same, now.
  bool IsGone() const {
    MutexLock lock(mutex_);
    return cancelled_ || gone_;
  }
  // How many messages the transport claims not to have sent.
  void SetUnsent(size_t messages) {
    MutexLock lock(mutex_);
    unsent_ = messages;
    changed_.SignalAll();
  }

  void Send(const Response& message) {
    MutexLock lock(mutex_);
    sent_.push_back(message);
    changed_.SignalAll();
  }
  // Blocks until the client has read all that was sent: the last of it may be on its
  // way.
  void AwaitAllRead() {
    MutexLock lock(mutex_);
    while (!sent_.empty()) changed_.Wait(mutex_);
  }
  // After what was sent.
  void End(const absl::Status& status) {
    MutexLock lock(mutex_);
    status_ = status;
    changed_.SignalAll();
  }

 private:
  friend class FakeStub;

  class Stream final : public client::MessageStream<Request, Response> {
   public:
    Stream(std::shared_ptr<FakeCall> call, const std::stop_token& stop)
        : call_(std::move(call)), on_stop_(stop, [this] { call_->Cancel(); }) {}
    ~Stream() override {
      MutexLock lock(call_->mutex_);
      call_->gone_ = true;
      call_->changed_.SignalAll();
    }

    void Write(const Request& message) override {
      MutexLock lock(call_->mutex_);
      if (call_->writes_done_) return;
      call_->written_.push_back(message);
      call_->changed_.SignalAll();
    }
    void WritesDone() override {
      MutexLock lock(call_->mutex_);
      call_->writes_done_ = true;
      call_->changed_.SignalAll();
    }
    void AwaitUnsentBelow(size_t messages) override {
      MutexLock lock(call_->mutex_);
      while (call_->unsent_ >= messages && !call_->cancelled_) {
        call_->changed_.Wait(call_->mutex_);
      }
    }
    size_t unsent() const override {
      MutexLock lock(call_->mutex_);
      return call_->unsent_;
    }
    bool Read(Response& message) override {
      MutexLock lock(call_->mutex_);
      while (call_->sent_.empty() && !call_->status_ && !call_->cancelled_) {
        call_->changed_.Wait(call_->mutex_);
      }
      if (call_->cancelled_ || call_->sent_.empty()) return false;
      message = std::move(call_->sent_.front());
      call_->sent_.pop_front();
      call_->changed_.SignalAll();
      return true;
    }
    absl::Status Finish() override {
      MutexLock lock(call_->mutex_);
      if (call_->cancelled_) return absl::CancelledError("CANCELLED");
      return *call_->status_;
    }

   private:
    const std::shared_ptr<FakeCall> call_;
    const std::stop_callback<std::function<void()>> on_stop_;
  };

  void Cancel() {
    MutexLock lock(mutex_);
    cancelled_ = true;
    changed_.SignalAll();
  }

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Request> written_ EVENPACK_GUARDED_BY(mutex_);
  std::deque<Response> sent_ EVENPACK_GUARDED_BY(mutex_);
  std::optional<absl::Status> status_ EVENPACK_GUARDED_BY(mutex_);
  size_t unsent_ EVENPACK_GUARDED_BY(mutex_) = 0;
  bool writes_done_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool cancelled_ EVENPACK_GUARDED_BY(mutex_) = false;
  bool gone_ EVENPACK_GUARDED_BY(mutex_) = false;
};

using FakeIngestCall = FakeCall<v1::IngestRequest, v1::IngestResponse>;
using FakeStepCall = FakeCall<v1::StreamStepsRequest, v1::StreamStepsResponse>;
using FakeGroupCall = FakeCall<v1::JoinGroupRequest, v1::JoinGroupResponse>;
extern template class FakeCall<v1::IngestRequest, v1::IngestResponse>;
extern template class FakeCall<v1::StreamStepsRequest, v1::StreamStepsResponse>;
extern template class FakeCall<v1::JoinGroupRequest, v1::JoinGroupResponse>;

// Unary calls are mocked, streams are conversations.
class FakeStub : public client::Stub {
 public:
  using CallOptions = client::CallOptions;

  // Apart from the class, as the destructor is: what the mocked methods expand to is
  // compiled once.
  FakeStub();
  ~FakeStub() override;

  MOCK_METHOD(absl::StatusOr<v1::CreateJobResponse>, CreateJob,
              (const v1::CreateJobRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<v1::GetJobResponse>, GetJob,
              (const v1::GetJobRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<v1::ListJobsResponse>, ListJobs,
              (const v1::ListJobsRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<v1::UpdateJobResponse>, UpdateJob,
              (const v1::UpdateJobRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<v1::DeleteJobResponse>, DeleteJob,
              (const v1::DeleteJobRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<v1::CheckpointJobResponse>, CheckpointJob,
              (const v1::CheckpointJobRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<v1::RewindJobResponse>, RewindJob,
              (const v1::RewindJobRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<v1::ForkJobResponse>, ForkJob,
              (const v1::ForkJobRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<v1::SkipDocumentsResponse>, SkipDocuments,
              (const v1::SkipDocumentsRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<v1::RestoreJobResponse>, RestoreJob,
              (const v1::RestoreJobRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<v1::GetStepResponse>, GetStep,
              (const v1::GetStepRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<v1::AcknowledgeResponse>, Acknowledge,
              (const v1::AcknowledgeRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<v1::ReportLatencyResponse>, ReportLatency,
              (const v1::ReportLatencyRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<v1::GetLatencyResponse>, GetLatency,
              (const v1::GetLatencyRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<v1::ObserveJobResponse>, ObserveJob,
              (const v1::ObserveJobRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<v1::ObserveMicroBatchResponse>, ObserveMicroBatch,
              (const v1::ObserveMicroBatchRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<v1::PutCostProfileResponse>, PutCostProfile,
              (const v1::PutCostProfileRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<v1::GetCostProfileResponse>, GetCostProfile,
              (const v1::GetCostProfileRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<v1::ListCostProfilesResponse>, ListCostProfiles,
              (const v1::ListCostProfilesRequest&, const CallOptions&), (override));
  MOCK_METHOD(absl::StatusOr<v1::DeleteCostProfileResponse>, DeleteCostProfile,
              (const v1::DeleteCostProfileRequest&, const CallOptions&), (override));

  std::unique_ptr<client::IngestStream> Ingest(const std::stop_token& stop) override;
  std::unique_ptr<client::StepStream> StreamSteps(const std::stop_token& stop) override;
  std::unique_ptr<client::GroupStream> JoinGroup(const std::stop_token& stop) override;

  // The next call that the client opened; blocks until there is one.
  std::shared_ptr<FakeIngestCall> AwaitIngestCall();
  std::shared_ptr<FakeStepCall> AwaitStepCall();
  std::shared_ptr<FakeGroupCall> AwaitGroupCall();
  // Calls that were opened and not taken.
  size_t ingest_calls() const;
  size_t step_calls() const;

 private:
  template <typename Call>
  using Calls = std::deque<std::shared_ptr<Call>>;

  template <typename Call>
  std::unique_ptr<typename Call::Stream> Open(Calls<Call>& calls,
                                              const std::stop_token& stop);
  template <typename Call>
  std::shared_ptr<Call> Await(Calls<Call>& calls);
  template <typename Call>
  size_t Count(const Calls<Call>& calls) const;

  mutable Mutex mutex_;
  CondVar changed_;
  Calls<FakeIngestCall> ingest_calls_;
  Calls<FakeStepCall> step_calls_;
  Calls<FakeGroupCall> group_calls_;
};

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_CLIENT_CPP_FAKE_STUB_H_
