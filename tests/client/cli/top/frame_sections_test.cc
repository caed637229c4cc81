#include "client/cli/top/frame_sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace evenpack {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<FrameSection>& Three() {
  static const auto* const kThree = new std::vector<FrameSection>{
      {"A", {"a1", "a2", "a3"}}, {"B", {}}, {"C", {"c1", "c2"}}};
  return *kThree;
}

TEST(FrameSectionsTest, WithRoomEverythingIsShownAndEmptySectionsAreNot) {
  EXPECT_THAT(FitSections({"h"}, Three(), 99),
              ElementsAre("h", "A", "a1", "a2", "a3", "C", "c1", "c2"));
}

TEST(FrameSectionsTest, RoomGoesRoundOnceEachHasALine) {
  EXPECT_THAT(FitSections({"h"}, Three(), 7),
              ElementsAre("h", "A", "a1", "a2", "C", "c1", "c2"));
  EXPECT_THAT(FitSections({"h"}, Three(), 6),
              ElementsAre("h", "A", "a1", "a2", "C", "c1"));
  EXPECT_THAT(FitSections({"h"}, Three(), 5), ElementsAre("h", "A", "a1", "C", "c1"));
}

TEST(FrameSectionsTest, WithoutRoomLaterSectionsGoFirstAndThenTheHeader) {
  EXPECT_THAT(FitSections({"h"}, Three(), 4), ElementsAre("h", "A", "a1", "a2"));
  EXPECT_THAT(FitSections({"h"}, Three(), 2), ElementsAre("h"));
  EXPECT_THAT(FitSections({"h", "i"}, Three(), 1), ElementsAre("h"));
  EXPECT_THAT(FitSections({"h"}, Three(), 0), IsEmpty());
}

}  // namespace
}  // namespace evenpack
