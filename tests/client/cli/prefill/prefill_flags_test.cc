#include "client/cli/prefill/prefill_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

FlagValues With(FlagValues more) {
  more.insert({{"--mode", "prefill"},
               {"--lengths", "-"},
               {"--replicas", "4"},
               {"--window", "100"},
               {"--rate", "5"}});
  return more;
}

TEST(PrefillFlags, AreThoseOfAMode) {
  EXPECT_TRUE(IsPrefill(With({})));
  EXPECT_FALSE(IsPrefill({{"--mode", "training"}}));
  EXPECT_FALSE(IsPrefill({{"--policy", "wlb"}}));
}

TEST(PrefillFlags, HaveDefaults) {
  const auto flags = ReadPrefillFlags(With({}));
  ASSERT_THAT(flags, IsOk());
  EXPECT_EQ(flags->limits.replicas, 4);
  EXPECT_EQ(flags->limits.window, 100);
  EXPECT_EQ(flags->limits.max_length, 100);
  EXPECT_EQ(flags->arrivals.pattern, ArrivalPattern::kPoisson);
  EXPECT_EQ(flags->arrivals.rate, 5);
  EXPECT_EQ(flags->arrivals.seed, 0);
  EXPECT_EQ(flags->length_scale, 1);
  EXPECT_EQ(flags->requests, std::nullopt);
  EXPECT_EQ(flags->max_delay, std::nullopt);
  EXPECT_THAT(flags->disciplines,
              ElementsAre(Discipline::kFirstCome, Discipline::kFewestTokens,
                          Discipline::kLongestFirst, Discipline::kBalanced));
}

TEST(PrefillFlags, ChangeWhatTheyName) {
  const auto flags = ReadPrefillFlags(With({{"--max-length", "150"},
                                            {"--arrivals", "bursty"},
                                            {"--burst-seconds", "2.5"},
                                            {"--seed", "9"},
                                            {"--length-scale", "0.25"},
                                            {"--requests", "77"},
                                            {"--max-delay", "3"},
                                            {"--discipline", "longest_first"}}));
  ASSERT_THAT(flags, IsOk());
  EXPECT_EQ(flags->limits.max_length, 150);
  EXPECT_EQ(flags->arrivals.pattern, ArrivalPattern::kBursty);
  EXPECT_EQ(flags->arrivals.burst_seconds, 2.5);
  EXPECT_EQ(flags->arrivals.seed, 9);
  EXPECT_EQ(flags->length_scale, 0.25);
  EXPECT_EQ(flags->requests, 77);
  EXPECT_EQ(flags->max_delay, 3);
  EXPECT_THAT(flags->disciplines, ElementsAre(Discipline::kLongestFirst));
}

TEST(PrefillFlags, NeedARateOrAFileOfArrivals) {
  FlagValues values = With({});
  values.erase("--rate");
  EXPECT_THAT(ReadPrefillFlags(values),
              StatusIs(kInvalid, AllOf(HasSubstr("--rate is missing"),
                                       HasSubstr("--arrivals-file"))));
  values["--arrivals-file"] = "times.txt";
  const auto flags = ReadPrefillFlags(values);
  ASSERT_THAT(flags, IsOk());
  EXPECT_EQ(flags->arrivals_file, "times.txt");
}

TEST(PrefillFlags, NameWhatTheyRefuse) {
  const std::pair<const char*, const char*> bad[] = {
      {"--replicas", "0"},      {"--window", "0"},        {"--max-length", "99"},
      {"--rate", "0"},          {"--rate", "nan"},        {"--arrivals", "steady"},
      {"--burst-seconds", "0"}, {"--length-scale", "0"},  {"--requests", "0"},
      {"--max-delay", "-1"},    {"--discipline", "lifo"}, {"--crossover", "0"},
      {"--arrivals-file", ""},  {"--seed", "x"},
  };
  for (const auto& [flag, value] : bad) {
    FlagValues values = With({});
    values[flag] = value;
    EXPECT_THAT(ReadPrefillFlags(values), StatusIs(kInvalid, HasSubstr(flag)))
        << flag << " " << value;
  }
}

TEST(PrefillFlags, RefuseBurstsThatHardlyHaveARequest) {
  const FlagValues values =
      With({{"--arrivals", "bursty"}, {"--burst-seconds", "0.001"}});
  EXPECT_THAT(ReadPrefillFlags(values), IsOk());
  FlagValues slower = values;
  slower["--rate"] = "0.5";
  EXPECT_THAT(ReadPrefillFlags(slower),
              StatusIs(kInvalid, HasSubstr("--burst-seconds: '0.001'")));
}

TEST(PrefillFlags, SayWhichHaveNoEffect) {
  EXPECT_THAT(UnusedInPrefill(With({})), ElementsAre());
  EXPECT_THAT(UnusedInPrefill(With({{"--policy", "wlb"}, {"--burst-seconds", "1"}})),
              ElementsAre("--burst-seconds", "--policy"));
  EXPECT_THAT(
      UnusedInPrefill(With({{"--arrivals", "bursty"}, {"--burst-seconds", "1"}})),
      ElementsAre());
  EXPECT_THAT(UnusedInPrefill(With({{"--crossover-error", "1"},
                                    {"--release", "class"},
                                    {"--token-cv", "0.1"},
                                    {"--delay-price", "0"},
                                    {"--max-in-flight", "5"},
                                    {"--backlog-limit", "5"}})),
              ElementsAre("--backlog-limit", "--crossover-error", "--delay-price",
                          "--max-in-flight", "--release", "--token-cv"));
  const std::pair<const std::string, std::string> tensors = {"--tp", "2"};
  EXPECT_THAT(UnusedInPrefill(With({tensors, {"--cp", "2"}, {"--hardware", "H200"}})),
              ElementsAre("--cp", "--hardware", "--tp"));
  EXPECT_THAT(
      UnusedInPrefill(With({tensors, {"--model", "7B"}, {"--ns-per-token", "4"}})),
      ElementsAre("--ns-per-token"));
  EXPECT_THAT(
      UnusedInPrefill(With({{"--arrivals-file", "f"}, {"--arrivals", "bursty"}})),
      ElementsAre("--arrivals", "--rate"));
}

}  // namespace
}  // namespace evenpack
