#include "client/cli/job_flags.h"

#include <gmock/gmock.h>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const FlagValues& Shape() {
  static const auto* const kShape =
      new FlagValues{{"--micro-batches", "4"}, {"--window", "1000"}};
  return *kShape;
}

FlagValues ShapeAnd(const FlagValues& more) {
  FlagValues values = more;
  values.insert(Shape().begin(), Shape().end());
  return values;
}

TEST(JobFlagsTest, PackDefaults) {
  const auto flags = ReadPackJobFlags(Shape());
  ASSERT_THAT(flags, IsOk());
  EXPECT_EQ(flags->max_length, 1000U);
  EXPECT_EQ(flags->window_batches, 1U);
  EXPECT_THAT(flags->queue_thresholds, IsEmpty());
  EXPECT_EQ(flags->max_delay, std::nullopt);
  EXPECT_EQ(flags->backlog_limit, 4);
}

TEST(JobFlagsTest, CompareDefaultsFollowTheWindow) {
  const auto flags = ReadCompareJobFlags({});
  ASSERT_THAT(flags, IsOk());
  EXPECT_EQ(flags->micro_batches, 4U);
  EXPECT_EQ(flags->window, 131072U);
  EXPECT_EQ(flags->max_length, 196608U);
  EXPECT_EQ(flags->window_batches, 8U);
  EXPECT_THAT(flags->queue_thresholds, ElementsAre(49152, 98304));
  const auto smallest = ReadCompareJobFlags({{"--window", "2"}});
  ASSERT_THAT(smallest, IsOk());
  EXPECT_THAT(smallest->queue_thresholds, ElementsAre(1));
  const auto largest = ReadCompareJobFlags({{"--window", "2147483647"}});
  ASSERT_THAT(largest, IsOk());
  EXPECT_EQ(largest->max_length, 2147483647U);
}

TEST(JobFlagsTest, CompareKeepsItsWideWindowWithinTheDelayBound) {
  const auto flags = ReadCompareJobFlags({{"--max-delay", "2"}});
  ASSERT_THAT(flags, IsOk());
  EXPECT_EQ(flags->window_batches, 3U);
}

TEST(JobFlagsTest, RefusesBadShapes) {
  const std::vector<std::pair<FlagValues, std::string>> cases = {
      {{{"--window", "5"}}, "--micro-batches is missing"},
      {{{"--micro-batches", "0"}, {"--window", "5"}}, "--micro-batches: '0'"},
      {{{"--micro-batches", "65537"}, {"--window", "5"}},
       "accepted: a whole number "
       "from 1 to 65536"},
      {{{"--micro-batches", "4"}, {"--window", "99999999999"}},
       "--window: '99999999999' is not accepted; accepted: a whole number from 1 to "
       "2147483647"},
      {ShapeAnd({{"--max-length", "999"}}),
       "--max-length: '999' is not accepted; accepted: 1000, which is --window, to "
       "2147483647"},
      {ShapeAnd({{"--window-batches", "1025"}}), "--window-batches: '1025'"},
      {ShapeAnd({{"--max-delay", "-1"}}), "--max-delay: '-1'"},
  };
  for (const auto& [values, message] : cases) {
    EXPECT_THAT(ReadPackJobFlags(values), StatusIs(kInvalid, HasSubstr(message)));
  }
}

TEST(JobFlagsTest, EngineErrorsNameFlags) {
  const auto thresholds = ReadPackJobFlags(ShapeAnd({{"--queue-thresholds", "5,5"}}));
  ASSERT_THAT(thresholds, IsOk());
  EXPECT_THAT(MakeJobSpec(*thresholds, PolicyKind::kWlb),
              StatusIs(kInvalid, HasSubstr("--queue-thresholds[1]: 5 is not accepted; "
                                           "accepted: rising token counts")));
  const auto delay =
      ReadPackJobFlags(ShapeAnd({{"--window-batches", "8"}, {"--max-delay", "3"}}));
  ASSERT_THAT(delay, IsOk());
  EXPECT_THAT(MakeJobSpec(*delay, PolicyKind::kFixedGreedy),
              StatusIs(kInvalid, HasSubstr("--max-delay: 3 is not accepted; accepted: "
                                           "at least 7")));
  const auto cost = ReadPackJobFlags({{"--micro-batches", "65536"},
                                      {"--window", "2147483647"},
                                      {"--crossover", "1"},
                                      {"--ns-per-token", "1000000"}});
  ASSERT_THAT(cost, IsOk());
  EXPECT_THAT(
      MakeJobSpec(*cost, PolicyKind::kWlb),
      StatusIs(kInvalid, HasSubstr("--max-length: 2147483647 is not accepted")));
  const auto in_flight = ReadPackJobFlags(ShapeAnd({{"--max-in-flight", "100"}}));
  ASSERT_THAT(in_flight, IsOk());
  EXPECT_THAT(MakeJobSpec(*in_flight, PolicyKind::kBalanced),
              StatusIs(kInvalid, StartsWith("--max-in-flight: 100 is not accepted; ")));
  for (const std::string bound : {"--token-cv", "--long-share"}) {
    const auto by_class =
        ReadPackJobFlags(ShapeAnd({{"--release", "class"}, {bound, "0.05"}}));
    ASSERT_THAT(by_class, IsOk());
    EXPECT_THAT(
        MakeJobSpec(*by_class, PolicyKind::kBalanced),
        StatusIs(kInvalid, StartsWith(bound + ": 50000 ppm is not accepted; ")));
    EXPECT_THAT(MakeJobSpec(*by_class, PolicyKind::kWlb), IsOk());
  }
  EXPECT_EQ(
      InFlagNames(absl::InvalidArgumentError("window: 0 within a window")).message(),
      "--window: 0 within a window");
}

TEST(JobFlagsTest, ASpecHasWhatItsPolicyUses) {
  const auto flags = ReadPackJobFlags(ShapeAnd({{"--queue-thresholds", "5,6"},
                                                {"--window-batches", "8"},
                                                {"--split-documents", "true"},
                                                {"--backlog-limit", "2.5"}}));
  ASSERT_THAT(flags, IsOk());
  const auto original = MakeJobSpec(*flags, PolicyKind::kOriginal);
  ASSERT_THAT(original, IsOk());
  EXPECT_EQ(original->policy,
            (PolicySpec{PolicyKind::kOriginal, kPolicyVersion, 1, {}, true}));
  EXPECT_EQ(original->backlog_limit, 4);
  const auto greedy = MakeJobSpec(*flags, PolicyKind::kFixedGreedy);
  ASSERT_THAT(greedy, IsOk());
  EXPECT_EQ(greedy->policy,
            (PolicySpec{PolicyKind::kFixedGreedy, kPolicyVersion, 8, {}, false}));
  const auto wlb = MakeJobSpec(*flags, PolicyKind::kWlb);
  ASSERT_THAT(wlb, IsOk());
  EXPECT_EQ(wlb->policy,
            (PolicySpec{PolicyKind::kWlb, kPolicyVersion, 1, {5, 6}, false}));
  EXPECT_EQ(wlb->backlog_limit, 2.5);
}

TEST(UnusedFlagsTest, AreTheOnesWithoutEffect) {
  const FlagValues values = {{"--queue-thresholds", "5"},
                             {"--window-batches", "2"},
                             {"--split-documents", "true"},
                             {"--tp", "2"}};
  EXPECT_THAT(UnusedFlags(values, {PolicyKind::kOriginal}),
              ElementsAre("--queue-thresholds", "--tp", "--window-batches"));
  EXPECT_THAT(UnusedFlags(values, {PolicyKind::kWlb}),
              ElementsAre("--split-documents", "--tp", "--window-batches"));
  // The job of pack and compare has one pipeline stage.
  EXPECT_THAT(UnusedFlags({{"--max-in-flight", "5000"}, {"--token-cv", "0.1"}},
                          {PolicyKind::kBalanced}),
              ElementsAre("--max-in-flight"));
  EXPECT_EQ(UnusedFlagsNote({}), "");
  EXPECT_EQ(UnusedFlagsNote({"--a"}), "evenpackctl: note: --a has no effect here\n");
  EXPECT_EQ(UnusedFlagsNote({"--a", "--b"}),
            "evenpackctl: note: --a, --b have no effect here\n");
}

TEST(FeedFlagsTest, ReadsPassesSeedAndSteps) {
  const auto feed = ReadFeedFlags({{"--lengths", "f"},
                                   {"--repeat", "3"},
                                   {"--seed", "18446744073709551615"},
                                   {"--steps", "9"}});
  ASSERT_THAT(feed, IsOk());
  EXPECT_EQ(feed->lengths, "f");
  EXPECT_EQ(feed->index, "");
  EXPECT_EQ(feed->passes, 3U);
  EXPECT_EQ(feed->seed, 18446744073709551615U);
  EXPECT_EQ(feed->steps, 9U);
  EXPECT_THAT(ReadFeedFlags({{"--lengths", "f"}, {"--repeat", "0"}}),
              StatusIs(kInvalid, HasSubstr("--repeat: '0' is not accepted")));
}

TEST(FeedFlagsTest, TakesAFileOfLengthsOrAnIndex) {
  const auto feed = ReadFeedFlags({{"--idx", "corpus"}});
  ASSERT_THAT(feed, IsOk());
  EXPECT_EQ(feed->index, "corpus");
  EXPECT_EQ(feed->lengths, "");
  const std::string accepted = "; accepted: one of --lengths FILE and --idx PREFIX";
  EXPECT_THAT(ReadFeedFlags({}), StatusIs(kInvalid, "--lengths is missing" + accepted));
  EXPECT_THAT(
      ReadFeedFlags({{"--idx", "corpus"}, {"--lengths", "f"}}),
      StatusIs(kInvalid, "--lengths together with --idx is not accepted" + accepted));
  EXPECT_THAT(ReadFeedFlags({{"--idx", ""}}),
              StatusIs(kInvalid, HasSubstr("--idx: '' is not accepted")));
}

TEST(ReadPolicyTest, KnowsThePolicies) {
  for (const PolicyKind kind : {PolicyKind::kOriginal, PolicyKind::kFixedGreedy,
                                PolicyKind::kWlb, PolicyKind::kBalanced}) {
    const auto policy = ReadPolicy({{"--policy", std::string(PolicyName(kind))}});
    ASSERT_THAT(policy, IsOk());
    EXPECT_EQ(*policy, kind);
  }
  EXPECT_THAT(ReadPolicy({{"--policy", "best"}}),
              StatusIs(kInvalid,
                       "--policy: 'best' is not accepted; accepted: original, "
                       "fixed_greedy, wlb, balanced"));
}

}  // namespace
}  // namespace evenpack
