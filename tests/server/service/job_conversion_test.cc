#include "server/service/job_conversion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "evenpack/v1/job.pb.h"
#include "server/core/digest/digest_bytes.h"
#include "server/service/spec_conversion.h"
#include "tests/server/service/service_spec.h"

namespace evenpack {
namespace {

using ::testing::ElementsAre;

TEST(JobConversionTest, EveryFieldIsTold) {
  JobStatus status;
  status.name = "run";
  status.spec =
      std::make_shared<const JobSpec>(FromProto(testing::ServiceSpec()).value());
  status.epoch = 1;
  status.next_step = 2;
  status.durable_steps = 3;
  status.oldest_step = 4;
  status.digest = {5, 6};
  status.streams = {{"a", 7, false, 8, 9, {}},
                    {"b", 10, true, 11, 12, {{18, 20}, {30, 31}}}};
  status.waiting_documents = 13;
  status.waiting_tokens = 14;
  status.drained = true;
  status.subscribers = 15;
  status.durable_steps_per_rank = {16, 17};
  v1::Job job;
  ToProto(status, job);
  EXPECT_EQ(job.name(), "run");
  EXPECT_EQ(job.spec().window(), 100U);
  EXPECT_EQ(job.spec().backlog_limit(), 4) << "defaults are filled in";
  EXPECT_EQ(job.epoch(), 1U);
  EXPECT_EQ(job.next_step(), 2U);
  EXPECT_EQ(job.durable_steps(), 3U);
  EXPECT_EQ(job.oldest_step(), 4U);
  EXPECT_EQ(job.digest(), DigestBytes({5, 6}));
  ASSERT_EQ(job.streams_size(), 2);
  EXPECT_EQ(job.streams(0).name(), "a");
  EXPECT_EQ(job.streams(0).next_sequence(), 7U);
  EXPECT_FALSE(job.streams(0).ended());
  EXPECT_EQ(job.streams(0).buffered_documents(), 8U);
  EXPECT_EQ(job.streams(0).buffered_tokens(), 9U);
  EXPECT_EQ(job.streams(1).next_sequence(), 10U);
  EXPECT_TRUE(job.streams(1).ended());
  EXPECT_EQ(job.streams(0).skipped_size(), 0);
  ASSERT_EQ(job.streams(1).skipped_size(), 2);
  EXPECT_EQ(job.streams(1).skipped(0).first_sequence(), 18U);
  EXPECT_EQ(job.streams(1).skipped(0).documents(), 2U);
  EXPECT_EQ(job.waiting_documents(), 13U);
  EXPECT_EQ(job.waiting_tokens(), 14U);
  EXPECT_TRUE(job.drained());
  EXPECT_EQ(job.subscribers(), 15U);
  EXPECT_THAT(job.durable_steps_per_rank(), ElementsAre(16, 17));
  EXPECT_EQ(job.policy_version(), kPolicyVersion);
}

}  // namespace
}  // namespace evenpack
