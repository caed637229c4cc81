#include "client/cli/flag_values.h"

#include <gmock/gmock.h>

#include <array>
#include <string>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(FlagReaderTest, ReadsIntegersInTheirRange) {
  const FlagValues values = {{"--a", "5"}, {"--b", "18446744073709551615"}};
  FlagReader reader(values);
  EXPECT_EQ(reader.Integer("--a", {5, 5}), 5U);
  EXPECT_EQ(reader.Integer("--b", {0, 18446744073709551615U}), 18446744073709551615U);
  EXPECT_EQ(reader.Integer("--c", {0, 9}, 7), 7U);
  EXPECT_EQ(reader.Integer32("--a", {0, 9}), 5U);
  EXPECT_THAT(reader.status(), IsOk());
}

TEST(FlagReaderTest, RefusesOtherIntegers) {
  for (const std::string bad : {"", "0", "10", "-1", "+5", "5x", " 5", "5.0", "0x5",
                                "99999999999999999999999", "4294967301"}) {
    const FlagValues values = {{"--a", bad}};
    FlagReader reader(values);
    reader.Integer("--a", {1, 9});
    EXPECT_THAT(reader.status(),
                StatusIs(kInvalid, "--a: '" + bad +
                                       "' is not accepted; accepted: a whole number "
                                       "from 1 to 9"));
  }
}

TEST(FlagReaderTest, SaysThatAFlagIsMissing) {
  const FlagValues values;
  FlagReader reader(values);
  reader.Integer("--a", {1, 9});
  EXPECT_THAT(
      reader.status(),
      StatusIs(kInvalid, "--a is missing; accepted: a whole number from 1 to 9"));
}

TEST(FlagReaderTest, KeepsTheFirstError) {
  const FlagValues values = {{"--a", "x"}, {"--b", "y"}};
  FlagReader reader(values);
  reader.Boolean("--a", false);
  reader.Boolean("--b", false);
  EXPECT_THAT(reader.status(), StatusIs(kInvalid, HasSubstr("--a: 'x'")));
}

TEST(FlagReaderTest, ReadsRealNumbers) {
  const FlagValues values = {{"--a", "2.5"}, {"--b", "1e1"}};
  FlagReader reader(values);
  EXPECT_EQ(reader.Real("--a", 0, 10, 4), 2.5);
  EXPECT_EQ(reader.Real("--b", 0, 10, 4), 10);
  EXPECT_EQ(reader.Real("--c", 0, 10, 4), 4);
  EXPECT_THAT(reader.status(), IsOk());
}

TEST(FlagReaderTest, RefusesOtherRealNumbers) {
  for (const std::string bad : {"", "nan", "inf", "-1", "11", "1e999", "0x1", "1,5"}) {
    const FlagValues values = {{"--a", bad}};
    FlagReader reader(values);
    reader.Real("--a", 0, 10, 4);
    EXPECT_THAT(reader.status(),
                StatusIs(kInvalid, "--a: '" + bad +
                                       "' is not accepted; accepted: a number from 0 "
                                       "to 10"));
  }
}

TEST(FlagReaderTest, ReadsBooleans) {
  const FlagValues values = {{"--a", "true"}, {"--b", "false"}};
  FlagReader reader(values);
  EXPECT_TRUE(reader.Boolean("--a", false));
  EXPECT_FALSE(reader.Boolean("--b", true));
  EXPECT_TRUE(reader.Boolean("--c", true));
  EXPECT_THAT(reader.status(), IsOk());
  const FlagValues bad = {{"--a", "yes"}};
  FlagReader refusing(bad);
  refusing.Boolean("--a", false);
  EXPECT_THAT(
      refusing.status(),
      StatusIs(kInvalid, "--a: 'yes' is not accepted; accepted: true or false"));
}

TEST(FlagReaderTest, ReadsTokenCounts) {
  const FlagValues values = {{"--a", "5,2147483647"}};
  FlagReader reader(values);
  EXPECT_THAT(reader.Tokens("--a", {}), ElementsAre(5, 2147483647));
  EXPECT_THAT(reader.Tokens("--b", {7}), ElementsAre(7));
  EXPECT_THAT(reader.status(), IsOk());
  for (const char* const bad : {"", ",", "5,", "5,,6", "5;6", "0", "2147483648"}) {
    const FlagValues bad_values = {{"--a", bad}};
    FlagReader refusing(bad_values);
    EXPECT_THAT(refusing.Tokens("--a", {}), IsEmpty());
    EXPECT_THAT(refusing.status(),
                StatusIs(kInvalid, HasSubstr("accepted: token counts from 1 to")))
        << bad;
  }
}

TEST(FlagReaderTest, ReadsNames) {
  constexpr std::array<std::string_view, 2> kNames = {"one", "two"};
  const FlagValues values = {{"--a", "two"}, {"--b", "three"}};
  FlagReader reader(values);
  EXPECT_EQ(reader.OneOf("--a", kNames), 1U);
  EXPECT_THAT(reader.status(), IsOk());
  reader.OneOf("--b", kNames);
  EXPECT_THAT(reader.status(),
              StatusIs(kInvalid, "--b: 'three' is not accepted; accepted: one, two"));
}

}  // namespace
}  // namespace evenpack
