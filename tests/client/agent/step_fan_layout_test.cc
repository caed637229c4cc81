// Steps that are held and may be of another layout than is asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "client/agent/step_fan.h"
#include "tests/client/agent/made_steps.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::agent {
namespace {

using evenpack::testing::Asks;
using evenpack::testing::DigestOf;
using evenpack::testing::IsOk;
using evenpack::testing::kEpoch;
using evenpack::testing::MadeStep;
using evenpack::testing::NeverWoken;

SubscribeRequest AsksFor(const std::string& name, Layout layout) {
  SubscribeRequest request = Asks(name);
  request.layout = layout;
  return request;
}

class StepFanLayoutTest : public ::testing::Test {
 protected:
  StepFan::Local Add(const SubscribeRequest& request) {
    return fan_.Add(request, 0, DigestOf(0), std::make_shared<NeverWoken>());
  }
  void Connect() {
    const StepFan::Request request = fan_.BeginCall();
    EXPECT_THAT(fan_.Subscribed(*request.from.next, *request.from.digest, 0), IsOk());
  }
  std::optional<uint64_t> Take(const StepFan::Local& local) {
    return evenpack::testing::TakeStep(fan_, local);
  }

  StepFan fan_{kEpoch, client::StepPosition{0, DigestOf(0)},
               StepFan::Bounds{8, 1 << 20}};
};

// They were decided before an update, perhaps of the layout.
TEST_F(StepFanLayoutTest,
       StepsOfAnEarlierEpochWaitUntilTheServerHasSaidThatTheyAreOfALayout) {
  const auto any = Add(Asks("any"));
  const auto native = Add(AsksFor("native", Layout::kNative));
  const auto same = Add(AsksFor("same", Layout::kNative));
  Connect();
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_THAT(fan_.Push(MadeStep(i, 0, i < 2 ? kEpoch - 1 : kEpoch)), IsOk());
  }
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(Take(any), i);
  const LocalMessage next = fan_.Next(*native);
  ASSERT_TRUE(std::holds_alternative<FetchStep>(next));
  EXPECT_EQ(std::get<FetchStep>(next).step, 0U);
  EXPECT_TRUE(std::holds_alternative<NothingYet>(fan_.Next(*native)));
  EXPECT_TRUE(fan_.TakeWoken().empty());
  fan_.Fetched(*native, MadeStep(0, 0, kEpoch - 1));
  EXPECT_EQ(fan_.TakeWoken().size(), 1U);
  // That is known of its epoch then, and of the job's own anyway.
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(Take(native), i);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(Take(same), i);
}

// The answer to the one says what the other is still waiting for.
TEST_F(StepFanLayoutTest, StepsThatSeveralAskForComeOnceToEach) {
  const auto first = Add(AsksFor("first", Layout::kNative));
  const auto second = Add(AsksFor("second", Layout::kNative));
  Connect();
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_THAT(fan_.Push(MadeStep(i, 0, i < 2 ? kEpoch - 1 : kEpoch)), IsOk());
  }
  for (const auto& local : {first, second}) {
    ASSERT_TRUE(std::holds_alternative<FetchStep>(fan_.Next(*local)));
  }
  fan_.Fetched(*first, MadeStep(0, 0, kEpoch - 1));
  EXPECT_TRUE(std::holds_alternative<NothingYet>(fan_.Next(*second)));
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(Take(first), i);
  fan_.Fetched(*second, MadeStep(0, 0, kEpoch - 1));
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(Take(second), i);
}

TEST_F(StepFanLayoutTest, AStepOfAnotherLayoutEndsWhoAsksForOneWithWhatTheServerSays) {
  const auto native = Add(AsksFor("native", Layout::kNative));
  const auto other = Add(AsksFor("other", Layout::kTeThd));
  Connect();
  for (uint64_t i = 0; i < 2; ++i) {
    EXPECT_THAT(fan_.Push(MadeStep(i, 0, kEpoch - 1)), IsOk());
  }
  ASSERT_TRUE(std::holds_alternative<FetchStep>(fan_.Next(*native)));
  fan_.Fetched(*native, MadeStep(0, 0, kEpoch - 1));
  ASSERT_TRUE(std::holds_alternative<FetchStep>(fan_.Next(*other)));
  const absl::Status differs = absl::FailedPreconditionError("layout: step 0's");
  fan_.Fetched(*other, differs);
  EXPECT_EQ(std::get<EndCall>(fan_.Next(*other)).status, differs);
  EXPECT_EQ(Take(native), 0U);
  EXPECT_EQ(Take(native), 1U);
}

// What is written with a promise of more may wait for it on its way.
TEST_F(StepFanLayoutTest, NoMoreIsPromisedThanFollowsAtOnce) {
  const auto more = [](const LocalMessage& next) {
    return std::get<SendHeld>(next).more;
  };
  const auto native = Add(AsksFor("native", Layout::kNative));
  const auto late = [&] {
    const auto added = Add(Asks("late"));
    EXPECT_TRUE(std::holds_alternative<FetchStep>(fan_.Next(*added)));
    fan_.Fetched(*added, MadeStep(0));
    return added;
  };
  Connect();
  for (uint64_t i = 0; i < 2; ++i) EXPECT_THAT(fan_.Push(MadeStep(i)), IsOk());
  EXPECT_TRUE(more(fan_.Next(*native)));
  EXPECT_FALSE(more(fan_.Next(*native)));
  EXPECT_THAT(fan_.Received(*native, 0), IsOk());
  EXPECT_TRUE(more(fan_.Next(*late())));
  fan_.Lost();
  // It waits for a call to stand.
  EXPECT_FALSE(more(fan_.Next(*late())));
}

}  // namespace
}  // namespace evenpack::agent
