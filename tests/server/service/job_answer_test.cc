#include "server/service/job_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "tests/server/service/service_spec.h"
#include "tests/server/service/status_details.h"
#include "tests/server/service/test_server.h"
#include "tests/testing/awaited.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::Awaited;
using testing::IsGrpcOk;
using testing::IsOk;
using testing::ServiceSpec;
using testing::StatusIs;
using testing::TestServer;

TEST(JobAnswerTest, TellsTheJobAsItIs) {
  TestServer server;
  ASSERT_THAT(server.Create("job", ServiceSpec()), IsGrpcOk());
  v1::Job told;
  const Awaited<absl::Status> found;
  AnswerWithJob(server.jobs().Find("job").value(), told, found);
  EXPECT_THAT(found.Get(), IsOk());
  EXPECT_EQ(told.name(), "job");
}

TEST(JobAnswerTest, TellsTheJobAsAChangeLeftItOrWhyThereWasNone) {
  v1::Job told;
  const Awaited<absl::Status> changed;
  JobStatus left;
  left.name = "job";
  left.spec = std::make_shared<const JobSpec>();
  left.epoch = 3;
  AnswerWithJob(left, told, changed);
  EXPECT_THAT(changed.Get(), IsOk());
  EXPECT_EQ(told.epoch(), 3U);

  v1::Job none;
  const Awaited<absl::Status> failed;
  AnswerWithJob(absl::AbortedError("why"), none, failed);
  EXPECT_THAT(failed.Get(), StatusIs(absl::StatusCode::kAborted, "why"));
  EXPECT_EQ(none.name(), "");
}

}  // namespace
}  // namespace evenpack
