#include "server/service/job_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(JobAnswerTest, TellsTheJobOrWhyThereIsNone) {
  TestServer server;
  ASSERT_THAT(server.Create("job", ServiceSpec()), IsGrpcOk());
  v1::Job told;
  const Awaited<absl::Status> found;
  AnswerWithJob(absl::OkStatus(), server.jobs(), "job", told, found);
  EXPECT_THAT(found.Get(), IsOk());
  EXPECT_EQ(told.name(), "job");

  v1::Job none;
  const Awaited<absl::Status> gone;
  AnswerWithJob(absl::OkStatus(), server.jobs(), "other", none, gone);
  EXPECT_THAT(gone.Get(),
              StatusIs(absl::StatusCode::kNotFound, ::testing::HasSubstr("'other'")));
  const Awaited<absl::Status> failed;
  AnswerWithJob(absl::AbortedError("why"), server.jobs(), "job", none, failed);
  EXPECT_THAT(failed.Get(), StatusIs(absl::StatusCode::kAborted, "why"));
  EXPECT_EQ(none.name(), "");
}

}  // namespace
}  // namespace evenpack
