#include "client/cpp/retrying_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/client/cpp/session_fixture.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kGone;
using ::evenpack::testing::ServerError;
using ::evenpack::testing::SessionFixture;
using ::evenpack::testing::StatusIs;
using std::chrono::milliseconds;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Property;
using ::testing::Return;
using ::testing::SizeIs;

class RetryingConnectionTest : public SessionFixture {
 protected:
  RetryingConnectionTest()
      : connection_(MakeRetryingConnection(stub_, client_options_)) {
    create_.set_name("run");
    create_.mutable_spec()->add_streams()->set_name("web");
    create_.mutable_spec()->set_window(1024);
    update_.set_name("run");
    *update_.mutable_spec() = create_.spec();
  }

  // As the server has it: with defaults filled in.
  v1::Job Held() const {
    v1::Job job;
    job.set_name("run");
    *job.mutable_spec() = create_.spec();
    job.mutable_spec()->mutable_streams(0)->set_weight(1);
    job.mutable_spec()->set_max_length(1024);
    job.mutable_spec()->mutable_parallelism()->set_data(1);
    return job;
  }
  void AnswerGetJob(const v1::Job& job) {
    v1::GetJobResponse response;
    *response.mutable_job() = job;
    EXPECT_CALL(*stub_, GetJob(Property(&v1::GetJobRequest::name, "run"), _))
        .WillOnce(Return(response));
  }

  v1::CreateJobRequest create_;
  v1::UpdateJobRequest update_;
  const std::shared_ptr<Connection> connection_;
};

TEST_F(RetryingConnectionTest, EachAttemptHasTheTimeoutOfTheOptions) {
  EXPECT_CALL(*stub_, GetJob(_, Field(&CallOptions::timeout, milliseconds(10'000))))
      .WillOnce(Return(v1::GetJobResponse()));
  EXPECT_THAT(connection_->GetJob("run"), IsOk());
}

TEST_F(RetryingConnectionTest, RetriesWhatMayBeRepeated) {
  v1::GetJobResponse response;
  *response.mutable_job() = Held();
  EXPECT_CALL(*stub_, GetJob)
      .WillOnce(Return(kGone))
      .WillOnce(Return(kGone))
      .WillOnce(Return(response));
  const absl::StatusOr<v1::Job> job = connection_->GetJob("run");
  ASSERT_THAT(job, IsOk());
  EXPECT_EQ(job->name(), "run");
  EXPECT_THAT(sleeper_->slept(), ElementsAre(milliseconds(100), milliseconds(160)));
}

TEST_F(RetryingConnectionTest, TellsWhoeverAsksWhichMethodItRetries) {
  std::vector<std::string> told;
  client_options_.on_retry = [&told](const RetryNews& news) {
    told.push_back(absl::StrCat(news.what, " ", news.why.message()));
  };
  EXPECT_CALL(*stub_, GetJob)
      .WillOnce(Return(kGone))
      .WillOnce(Return(v1::GetJobResponse()))
      .WillOnce(Return(v1::GetJobResponse()));
  const auto connection = MakeRetryingConnection(stub_, client_options_);
  EXPECT_THAT(connection->GetJob("run"), IsOk());
  EXPECT_THAT(connection->GetJob("run"), IsOk());
  EXPECT_THAT(told, ElementsAre("GetJob connection reset", "GetJob "));
}

// A connection may have died without a word.
TEST_F(RetryingConnectionTest, RetriesAnAttemptWithoutAnAnswerInItsTime) {
  const absl::Status late = absl::DeadlineExceededError("Deadline Exceeded");
  EXPECT_CALL(*stub_, DeleteJob)
      .WillOnce(Return(late))
      .WillOnce(
          Return(ServerError(absl::StatusCode::kNotFound, "gone", "JOB_NOT_FOUND")));
  EXPECT_THAT(connection_->DeleteJob("run"), IsOk());
}

TEST_F(RetryingConnectionTest, RetriesWhatOnlyLooks) {
  v1::ObserveJobResponse job;
  job.set_producers(3);
  EXPECT_CALL(*stub_, ObserveJob).WillOnce(Return(kGone)).WillOnce(Return(job));
  EXPECT_EQ(connection_->ObserveJob({})->producers(), 3U);
  v1::ObserveMicroBatchResponse micro_batch;
  micro_batch.add_attended_pairs(7);
  EXPECT_CALL(*stub_, ObserveMicroBatch)
      .WillOnce(Return(kGone))
      .WillOnce(Return(micro_batch));
  EXPECT_EQ(connection_->ObserveMicroBatch({})->attended_pairs(0), 7U);
}

TEST_F(RetryingConnectionTest, RetriesAFullServerWhenItSays) {
  ErrorDetails details;
  details.retry_delay = std::chrono::seconds(3);
  EXPECT_CALL(*stub_, DeleteJob)
      .WillOnce(Return(WithDetails(absl::ResourceExhaustedError("full"), details)))
      .WillOnce(Return(absl::ResourceExhaustedError("full")));
  EXPECT_THAT(connection_->DeleteJob("run"),
              StatusIs(absl::StatusCode::kResourceExhausted, "full"));
  EXPECT_THAT(sleeper_->slept(), ElementsAre(std::chrono::seconds(3)));
}

TEST_F(RetryingConnectionTest, OtherErrorsAreFinalAndKeepTheirDetails) {
  EXPECT_CALL(*stub_, GetStep)
      .WillOnce(
          Return(ServerError(absl::StatusCode::kOutOfRange, "step: 3", "STEP_LET_GO")));
  const absl::Status status = connection_->GetStep({}).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kOutOfRange, "step: 3"));
  EXPECT_EQ(DetailsOf(status).reason, "STEP_LET_GO");
}

TEST_F(RetryingConnectionTest, GivesUpAfterTenMinutes) {
  EXPECT_CALL(*stub_, Acknowledge).WillRepeatedly(Return(kGone));
  const Clock::TimePoint start = clock_.Now();
  EXPECT_THAT(connection_->Acknowledge({}),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("connection reset (gave up after")));
  EXPECT_EQ(SecondsBetween(start, clock_.Now()), 600);
}

TEST_F(RetryingConnectionTest, AcknowledgingSaysHowManyStepsAreDurable) {
  v1::AcknowledgeResponse response;
  response.set_durable_steps(8);
  EXPECT_CALL(*stub_, Acknowledge).WillOnce(Return(kGone)).WillOnce(Return(response));
  const absl::StatusOr<uint64_t> steps = connection_->Acknowledge({});
  ASSERT_THAT(steps, IsOk());
  EXPECT_EQ(*steps, 8U);
}

TEST_F(RetryingConnectionTest, ProfilesArePutGotAndListedWithRetries) {
  v1::CostProfile profile;
  profile.set_name("p");
  EXPECT_CALL(*stub_, PutCostProfile)
      .WillOnce(Return(kGone))
      .WillOnce([](const v1::PutCostProfileRequest& request, const CallOptions&) {
        EXPECT_EQ(request.profile().name(), "p");
        return v1::PutCostProfileResponse();
      });
  EXPECT_THAT(connection_->PutCostProfile(profile), IsOk());
  v1::GetCostProfileResponse got;
  *got.mutable_profile() = profile;
  EXPECT_CALL(*stub_,
              GetCostProfile(Property(&v1::GetCostProfileRequest::name, "p"), _))
      .WillOnce(Return(kGone))
      .WillOnce(Return(got));
  EXPECT_EQ(connection_->GetCostProfile("p")->name(), "p");
  v1::ListCostProfilesResponse first;
  *first.add_profiles() = profile;
  first.set_next_page_token("p");
  v1::ListCostProfilesResponse last;
  last.add_broken_profiles()->set_name("q");
  EXPECT_CALL(*stub_, ListCostProfiles)
      .WillOnce(Return(first))
      .WillOnce(Return(kGone))
      .WillOnce(Return(last));
  const absl::StatusOr<v1::ListCostProfilesResponse> all =
      connection_->ListCostProfiles();
  ASSERT_THAT(all, IsOk());
  EXPECT_THAT(all->profiles(), SizeIs(1));
  EXPECT_EQ(all->broken_profiles(0).name(), "q");
}

TEST_F(RetryingConnectionTest, AProfileThatARetryDoesNotFindIsDeleted) {
  const absl::Status none = absl::NotFoundError("none");
  EXPECT_CALL(*stub_, DeleteCostProfile).WillOnce(Return(kGone)).WillOnce(Return(none));
  EXPECT_THAT(connection_->DeleteCostProfile("p"), IsOk());
  EXPECT_CALL(*stub_, DeleteCostProfile).WillOnce(Return(none));
  EXPECT_EQ(connection_->DeleteCostProfile("p"), none);
}

TEST_F(RetryingConnectionTest, ListsTheJobsOfAllPages) {
  v1::ListJobsResponse first;
  first.add_jobs()->set_name("a");
  first.add_jobs()->set_name("b");
  first.set_next_page_token("b");
  first.add_broken_jobs()->set_name("bad");
  v1::ListJobsResponse last;
  last.add_jobs()->set_name("c");
  EXPECT_CALL(*stub_, ListJobs(Property(&v1::ListJobsRequest::page_token, ""), _))
      .WillOnce(Return(first));
  EXPECT_CALL(*stub_, ListJobs(Property(&v1::ListJobsRequest::page_token, "b"), _))
      .WillOnce(Return(kGone))
      .WillOnce(Return(last));
  const absl::StatusOr<v1::ListJobsResponse> jobs = connection_->ListJobs();
  ASSERT_THAT(jobs, IsOk());
  ASSERT_THAT(jobs->jobs(), SizeIs(3));
  EXPECT_EQ(jobs->jobs(2).name(), "c");
  ASSERT_THAT(jobs->broken_jobs(), SizeIs(1));
  EXPECT_EQ(jobs->broken_jobs(0).name(), "bad");
  EXPECT_EQ(jobs->next_page_token(), "");
}

const absl::Status kExists = absl::AlreadyExistsError("name: 'run' is taken");

TEST_F(RetryingConnectionTest, AJobThatExistsIsAnError) {
  EXPECT_CALL(*stub_, CreateJob).WillOnce(Return(kExists));
  EXPECT_EQ(connection_->CreateJob(create_).status(), kExists);
}

TEST_F(RetryingConnectionTest, AJobThatAnEarlierAttemptCreatedIsReturned) {
  EXPECT_CALL(*stub_, CreateJob).WillOnce(Return(kGone)).WillOnce(Return(kExists));
  AnswerGetJob(Held());
  const absl::StatusOr<v1::Job> job = connection_->CreateJob(create_);
  ASSERT_THAT(job, IsOk());
  EXPECT_EQ(job->spec().max_length(), 1024U);
}

TEST_F(RetryingConnectionTest, AJobThatSomebodyElseCreatedIsAnErrorAfterARetryToo) {
  EXPECT_CALL(*stub_, CreateJob).WillOnce(Return(kGone)).WillOnce(Return(kExists));
  v1::Job other = Held();
  other.mutable_spec()->set_window(512);
  AnswerGetJob(other);
  EXPECT_THAT(connection_->CreateJob(create_),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       "name: 'run' is taken; the job that has this name has another "
                       "spec"));
}

TEST_F(RetryingConnectionTest, AJobThatAnEarlierAttemptCouldNotStoreIsNotUnknown) {
  EXPECT_CALL(*stub_, CreateJob).WillOnce(Return(kGone)).WillOnce(Return(kExists));
  EXPECT_CALL(*stub_, GetJob)
      .WillOnce(Return(absl::NotFoundError("job: 'run' is not known")));
  EXPECT_THAT(connection_->CreateJob(create_),
              StatusIs(absl::StatusCode::kUnavailable,
                       "job: 'run' was not created: an attempt held the name and could "
                       "not be stored; try again"));
}

TEST_F(RetryingConnectionTest, ACheckpointIsAskedForAgain) {
  v1::CheckpointJobResponse response;
  response.set_checkpoint("state");
  EXPECT_CALL(*stub_,
              CheckpointJob(AllOf(Property(&v1::CheckpointJobRequest::name, "run"),
                                  Property(&v1::CheckpointJobRequest::step, 7U)),
                            _))
      .WillOnce(Return(kGone))
      .WillOnce(Return(response));
  EXPECT_EQ(connection_->CheckpointJob("run", 7)->checkpoint(), "state");
}

TEST_F(RetryingConnectionTest, AnExistingJobMayBeWhatAnEarlierAttemptRestored) {
  const v1::RestoreJobRequest request;
  EXPECT_CALL(*stub_, RestoreJob)
      .WillOnce(Return(kExists))
      .WillOnce(Return(kGone))
      .WillOnce(Return(kExists))
      .WillOnce(Return(v1::RestoreJobResponse()));
  EXPECT_EQ(connection_->RestoreJob(request).status(), kExists);
  EXPECT_THAT(connection_->RestoreJob(request),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       "name: 'run' is taken; an attempt before this one may have been "
                       "carried out"));
  EXPECT_THAT(connection_->RestoreJob(request), IsOk());
}

TEST_F(RetryingConnectionTest, AnExistingJobMayBeWhatAnEarlierAttemptForked) {
  EXPECT_CALL(*stub_, ForkJob).WillOnce(Return(kGone)).WillOnce(Return(kExists));
  EXPECT_THAT(connection_->ForkJob({}),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("carried out")));
}

// What would be done twice is repeated only where the epoch tells.
TEST_F(RetryingConnectionTest, RewindsAndSkipsAreRepeatedWhereThatIsSafe) {
  const absl::Status other_epoch = absl::AbortedError("expected_epoch: 4 is not");
  v1::RewindJobRequest rewind;
  EXPECT_CALL(*stub_, RewindJob).WillOnce(Return(kGone));
  EXPECT_EQ(connection_->RewindJob(rewind).status(), kGone);
  rewind.set_expected_epoch(4);
  EXPECT_CALL(*stub_, RewindJob)
      .WillOnce(Return(kGone))
      .WillOnce(Return(other_epoch))
      .WillOnce(Return(other_epoch));
  EXPECT_THAT(connection_->RewindJob(rewind),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("carried out")));
  EXPECT_EQ(connection_->RewindJob(rewind).status(), other_epoch);

  v1::SkipDocumentsRequest skip;
  v1::SkipDocumentsResponse skipped;
  skipped.mutable_job()->set_epoch(3);
  EXPECT_CALL(*stub_, SkipDocuments).WillOnce(Return(kGone)).WillOnce(Return(skipped));
  EXPECT_EQ(connection_->SkipDocuments(skip)->epoch(), 3U);
  skip.set_from_step(8);
  EXPECT_CALL(*stub_, SkipDocuments).WillOnce(Return(kGone));
  EXPECT_EQ(connection_->SkipDocuments(skip).status(), kGone);
  skip.set_expected_epoch(4);
  EXPECT_CALL(*stub_, SkipDocuments).WillOnce(Return(kGone)).WillOnce(Return(skipped));
  EXPECT_EQ(connection_->SkipDocuments(skip)->epoch(), 3U);
}

TEST_F(RetryingConnectionTest, AnUpdateWithoutItsEpochIsNotRepeated) {
  EXPECT_CALL(*stub_, UpdateJob).WillOnce(Return(kGone));
  EXPECT_EQ(connection_->UpdateJob(update_).status(), kGone);
}

const absl::Status kOtherEpoch =
    absl::AbortedError("expected_epoch: 4 is not the job's");

TEST_F(RetryingConnectionTest, AnUpdateThatAnEarlierAttemptMadeIsASuccess) {
  update_.set_expected_epoch(4);
  EXPECT_CALL(*stub_, UpdateJob).WillOnce(Return(kGone)).WillOnce(Return(kOtherEpoch));
  v1::Job job = Held();
  job.set_epoch(5);
  AnswerGetJob(job);
  const absl::StatusOr<v1::Job> updated = connection_->UpdateJob(update_);
  ASSERT_THAT(updated, IsOk());
  EXPECT_EQ(updated->epoch(), 5U);
}

TEST_F(RetryingConnectionTest, AnUpdateThatSomebodyElseMadeIsNot) {
  update_.set_expected_epoch(4);
  for (const auto& change : std::vector<std::function<void(v1::Job&)>>{
           [](v1::Job& job) { job.set_epoch(6); },
           [](v1::Job& job) { job.mutable_spec()->set_window(512); }}) {
    EXPECT_CALL(*stub_, UpdateJob)
        .WillOnce(Return(kGone))
        .WillOnce(Return(kOtherEpoch));
    v1::Job job = Held();
    job.set_epoch(5);
    change(job);
    AnswerGetJob(job);
    EXPECT_EQ(connection_->UpdateJob(update_).status(), kOtherEpoch);
  }
}

TEST_F(RetryingConnectionTest, AJobThatAnEarlierAttemptDeletedIsASuccess) {
  const absl::Status none = absl::NotFoundError("job 'run'");
  EXPECT_CALL(*stub_, DeleteJob).WillOnce(Return(kGone)).WillOnce(Return(none));
  EXPECT_THAT(connection_->DeleteJob("run"), IsOk());
  EXPECT_CALL(*stub_, DeleteJob).WillOnce(Return(none));
  EXPECT_EQ(connection_->DeleteJob("run"), none);
}

TEST_F(RetryingConnectionTest, ReportsAreNotRepeated) {
  EXPECT_CALL(*stub_, ReportLatency).WillOnce(Return(kGone));
  EXPECT_EQ(connection_->ReportLatency({}).status(), kGone);
}

TEST_F(RetryingConnectionTest, OpensProducersOnceTheyKnowWhatIsNext) {
  EXPECT_THAT(connection_->OpenProducer({.job = "run"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("stream: ''")));
  v1::IngestResponse next;
  next.set_next_sequence(12);
  std::thread server([&] { stub_->AwaitIngestCall()->Send(next); });
  const auto producer = connection_->OpenProducer({.job = "run", .stream = "web"});
  server.join();
  ASSERT_THAT(producer, IsOk());
  EXPECT_EQ((*producer)->next_sequence(), 12U);
}

TEST_F(RetryingConnectionTest, AnAttemptThatIsStoppedIsTheLast) {
  std::stop_source stop;
  const auto connection =
      MakeRetryingConnection(stub_, client_options_, stop.get_token());
  EXPECT_CALL(*stub_, GetJob)
      .WillOnce([&stop](const v1::GetJobRequest&, const CallOptions& options) {
        stop.request_stop();
        EXPECT_TRUE(options.stop.stop_requested());
        return kGone;
      });
  EXPECT_EQ(connection->GetJob("run").status(), kGone);
  EXPECT_THAT(sleeper_->slept(), IsEmpty());
}

TEST_F(RetryingConnectionTest, AProducerThatIsStoppedIsNotOpened) {
  std::stop_source stop;
  const auto connection =
      MakeRetryingConnection(stub_, client_options_, stop.get_token());
  std::thread stops([&] {
    stub_->AwaitIngestCall();
    stop.request_stop();
  });
  EXPECT_THAT(connection->OpenProducer({.job = "run", .stream = "web"}),
              StatusIs(absl::StatusCode::kCancelled, _));
  stops.join();
}

TEST_F(RetryingConnectionTest, OpensConsumersAtOnce) {
  EXPECT_THAT(connection_->OpenConsumer({}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("job: ''")));
  EXPECT_THAT(connection_->OpenConsumer({.job = "run"}), IsOk());
}

TEST_F(RetryingConnectionTest, JoinsGroupsAtOnce) {
  EXPECT_THAT(connection_->JoinGroup({.job = "run"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("member: ")));
  EXPECT_THAT(connection_->JoinGroup({.job = "run", .member = "a"}), IsOk());
}

TEST_F(RetryingConnectionTest, DrawsItsOwnJitterWhereNoneIsGiven) {
  client_options_.random = {};
  const auto connection = MakeRetryingConnection(stub_, client_options_);
  EXPECT_CALL(*stub_, GetJob)
      .WillOnce(Return(kGone))
      .WillOnce(Return(v1::GetJobResponse()));
  EXPECT_THAT(connection->GetJob("run"), IsOk());
  ASSERT_THAT(sleeper_->slept(), SizeIs(1));
  EXPECT_GE(sleeper_->slept()[0], milliseconds(80));
  EXPECT_LT(sleeper_->slept()[0], milliseconds(120));
}

}  // namespace
}  // namespace evenpack::client
