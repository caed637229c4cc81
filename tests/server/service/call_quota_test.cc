#include "server/service/call_quota.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "server/runtime/status_detail.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::IsOk;

std::string QuotaOf(const absl::Status& status) {
  return DetailOf(status).values["quota"];
}

class CallQuotaTest : public ::testing::Test {
 protected:
  static QuotaLimits OneOfEach() {
    QuotaLimits limits;
    limits.fill(1);
    return limits;
  }

  std::set<std::string> jobs_;
  CallQuotas quotas_{OneOfEach(),
                     [this](const std::string& job) { return jobs_.contains(job); }};
};

TEST_F(CallQuotaTest, ACallHasItsPlaceUntilItIsAnswered) {
  const auto call = CallQuota::Take(quotas_, "a", nullptr);
  ASSERT_THAT(call, IsOk());
  EXPECT_EQ(QuotaOf(CallQuota::Take(quotas_, "a", nullptr).status()), "max-peer-calls");
  EXPECT_THAT(CallQuota::Take(quotas_, "b", nullptr), IsOk());
  (*call)->Answered(absl::OkStatus(), 0);
  EXPECT_THAT(CallQuota::Take(quotas_, "a", nullptr), IsOk());
}

TEST_F(CallQuotaTest, AnAnswerCountsUntilTheCallIsDone) {
  auto call = CallQuota::Take(quotas_, "a", nullptr);
  ASSERT_THAT(call, IsOk());
  (*call)->Answered(absl::OkStatus(), kLeastUntakenAnswers * kAnswerBytesOfACall);
  const auto refused = CallQuota::Take(quotas_, "a", nullptr);
  EXPECT_EQ(QuotaOf(refused.status()), "max-peer-calls");
  EXPECT_EQ(
      refused.status().message(),
      "max-peer-calls: peer a has 256 calls' answers, counted by 256 KiB, to take; "
      "accepted: at most so many");
  EXPECT_EQ(quotas_.held.refusals()[static_cast<size_t>(Quota::kPeerCalls)], 1U);
  EXPECT_EQ(quotas_.held.size(), 0U) << "the refused call keeps no place";
  EXPECT_THAT(CallQuota::Take(quotas_, "b", nullptr), IsOk());
  call->reset();
  EXPECT_THAT(CallQuota::Take(quotas_, "a", nullptr), IsOk());
  EXPECT_EQ(quotas_.answers.size(), 0U);
}

TEST_F(CallQuotaTest, JobsThatWereMadeCountAndThoseThatWereNotDoNot) {
  // An empty name is one as any other here: what is wrong with it is for others.
  for (const std::string job : {"", "x"}) {
    const auto failed = CallQuota::Take(quotas_, "a", &job);
    ASSERT_THAT(failed, IsOk());
    (*failed)->Answered(absl::InvalidArgumentError("name"), 0);
  }
  const std::string job = "x";
  const auto making = CallQuota::Take(quotas_, "a", &job);
  ASSERT_THAT(making, IsOk());
  jobs_.insert(job);
  (*making)->Answered(absl::OkStatus(), 0);

  const auto refused = CallQuota::Take(quotas_, "a", &job);
  EXPECT_EQ(QuotaOf(refused.status()), "max-peer-jobs");
  EXPECT_EQ(quotas_.held.refusals()[static_cast<size_t>(Quota::kPeerJobs)], 1U);
  EXPECT_THAT(CallQuota::Take(quotas_, "a", nullptr), IsOk())
      << "the refused call keeps no place";
  jobs_.clear();
  EXPECT_THAT(CallQuota::Take(quotas_, "a", &job), IsOk());
}

}  // namespace
}  // namespace evenpack
