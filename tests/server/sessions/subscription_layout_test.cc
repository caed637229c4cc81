// Subscriptions that ask for a layout, after the job was updated to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <variant>

#include "server/runtime/status_detail.h"
#include "server/sessions/subscription_table.h"
#include "tests/server/sessions/session_rig.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::NullSubscriber;
using testing::SessionRig;
using testing::StatusIs;

TEST(SubscriptionLayoutTest, AStepOfAnotherLayoutIsNotSentAsOneOfTheJobs) {
  SessionRig rig;
  rig.PublishSteps(2);
  ASSERT_EQ(rig.spec.layout.kind, Layout::kNative);
  rig.spec.layout.kind = Layout::kTeThd;
  SubscriptionTable table;
  SubscribeRequest request;
  const auto first_step = [&] {
    const auto subscription =
        table.Add(request, std::make_shared<NullSubscriber>(), rig.view()).value();
    return table.Next(*subscription, rig.view());
  };
  EXPECT_TRUE(std::holds_alternative<SendStep>(first_step()));
  request.layout = Layout::kTeThd;
  const NextMessage next = first_step();
  ASSERT_TRUE(std::holds_alternative<EndCall>(next));
  const absl::Status& status = std::get<EndCall>(next).status;
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kFailedPrecondition,
                               "layout: te_thd is not accepted; accepted: native, "
                               "step 0's"));
  EXPECT_EQ(DetailOf(status).reason, "LAYOUT_DIFFERS");
}

}  // namespace
}  // namespace evenpack
