// GoogleMock objects for tests of programs that use the client: no server, no network.
//
//   auto connection = std::make_shared<NiceMock<MockConnection>>();
//   EXPECT_CALL(*connection, GetJob("run-7")).WillOnce(Return(job));
//   MyTrainer trainer{Client(connection)};
//
// Steps for MockConsumer::Next come from RankStep::FromMessage; error_details.h makes
// errors as the server's.
#ifndef EVENPACK_CLIENT_CPP_MOCKS_MOCK_CONNECTION_H_
#define EVENPACK_CLIENT_CPP_MOCKS_MOCK_CONNECTION_H_

#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cpp/connection.h"
#include "evenpack/v1/cost_profile.pb.h"
#include "evenpack/v1/packing_service.pb.h"

namespace evenpack::client {

class MockConnection : public Connection {
 public:
  MOCK_METHOD(absl::StatusOr<v1::Job>, CreateJob, (const v1::CreateJobRequest&),
              (override));
  MOCK_METHOD(absl::StatusOr<v1::Job>, GetJob, (const std::string&), (override));
  MOCK_METHOD(absl::StatusOr<v1::ListJobsResponse>, ListJobs, (), (override));
  MOCK_METHOD(absl::StatusOr<v1::Job>, UpdateJob, (const v1::UpdateJobRequest&),
              (override));
  MOCK_METHOD(absl::Status, DeleteJob, (const std::string&), (override));
  MOCK_METHOD(absl::StatusOr<v1::CheckpointJobResponse>, CheckpointJob,
              (const std::string&, uint64_t), (override));
  MOCK_METHOD(absl::StatusOr<v1::Job>, RestoreJob, (const v1::RestoreJobRequest&),
              (override));
  MOCK_METHOD(absl::StatusOr<v1::Job>, RewindJob, (const v1::RewindJobRequest&),
              (override));
  MOCK_METHOD(absl::StatusOr<v1::Job>, ForkJob, (const v1::ForkJobRequest&),
              (override));
  MOCK_METHOD(absl::StatusOr<v1::Job>, SkipDocuments, (const v1::SkipDocumentsRequest&),
              (override));
  MOCK_METHOD(absl::StatusOr<v1::Step>, GetStep, (const v1::GetStepRequest&),
              (override));
  MOCK_METHOD(absl::StatusOr<uint64_t>, Acknowledge, (const v1::AcknowledgeRequest&),
              (override));
  MOCK_METHOD(absl::StatusOr<v1::ReportLatencyResponse>, ReportLatency,
              (const v1::ReportLatencyRequest&), (override));
  MOCK_METHOD(absl::StatusOr<v1::GetLatencyResponse>, GetLatency,
              (const v1::GetLatencyRequest&), (override));
  MOCK_METHOD(absl::StatusOr<v1::ObserveJobResponse>, ObserveJob,
              (const v1::ObserveJobRequest&), (override));
  MOCK_METHOD(absl::StatusOr<v1::ObserveMicroBatchResponse>, ObserveMicroBatch,
              (const v1::ObserveMicroBatchRequest&), (override));
  MOCK_METHOD(absl::Status, PutCostProfile, (const v1::CostProfile&), (override));
  MOCK_METHOD(absl::StatusOr<v1::CostProfile>, GetCostProfile, (const std::string&),
              (override));
  MOCK_METHOD(absl::StatusOr<v1::ListCostProfilesResponse>, ListCostProfiles, (),
              (override));
  MOCK_METHOD(absl::Status, DeleteCostProfile, (const std::string&), (override));
  MOCK_METHOD(absl::StatusOr<std::unique_ptr<Producer>>, OpenProducer,
              (const ProducerOptions&), (override));
  MOCK_METHOD(absl::StatusOr<std::unique_ptr<Consumer>>, OpenConsumer,
              (const ConsumerOptions&), (override));
  MOCK_METHOD(absl::StatusOr<std::unique_ptr<GroupMember>>, JoinGroup,
              (const GroupOptions&), (override));
};

class MockProducer : public Producer {
 public:
  MOCK_METHOD(absl::Status, Add, (const DocumentColumns&), (override));
  MOCK_METHOD(absl::Status, TryAdd, (const DocumentColumns&), (override));
  MOCK_METHOD(absl::Status, Flush, (), (override));
  MOCK_METHOD(absl::Status, EndOfStream, (), (override));
  MOCK_METHOD(uint64_t, next_sequence, (), (const, override));
  MOCK_METHOD(uint64_t, accepted_sequence, (), (const, override));
  MOCK_METHOD(void, Cancel, (), (override));
};

class MockConsumer : public Consumer {
 public:
  MOCK_METHOD(absl::StatusOr<std::optional<RankStep>>, Next, (), (override));
  MOCK_METHOD(absl::StatusOr<Subscription>, AwaitSubscription, (), (override));
  MOCK_METHOD(absl::Status, AcknowledgeDurable, (uint64_t), (override));
  MOCK_METHOD(uint64_t, durable_steps, (), (const, override));
  MOCK_METHOD(std::optional<DurableMarks::Mark>, unconfirmed_mark, (),
              (const, override));
  MOCK_METHOD(void, ReportLatency, (const MeasuredLatency&), (override));
  MOCK_METHOD(void, ReportWait, (double), (override));
  MOCK_METHOD(StepWait, step_wait, (), (const, override));
  MOCK_METHOD(size_t, buffered_steps, (), (const, override));
  MOCK_METHOD(absl::Status, status, (), (const, override));
  MOCK_METHOD(absl::Status, Close, (), (override));
  MOCK_METHOD(void, Cancel, (), (override));
};

class MockGroupMember : public GroupMember {
 public:
  MOCK_METHOD(absl::StatusOr<GroupNews>, Next, (), (override));
  MOCK_METHOD(void, Report, (const MemberState&), (override));
  MOCK_METHOD(void, Cancel, (), (override));
};

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_MOCKS_MOCK_CONNECTION_H_
