#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_worker/rank_form/rank_form.h"
#include "tests/testing/little_memory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

TEST(ProcessorFormTest, TensorsAreThisProcesssAndPeersAreMetByGloo) {
  const auto form = OnProcessor(2).value();
  EXPECT_EQ(&form->device(), &Device::Host());
  EXPECT_EQ(form->cuda_device(), std::nullopt);
  EXPECT_EQ(form->engine().key_placement(), KeyPlacement::kWhereTheyAre);
  const auto open = form->Endpoints();
  ASSERT_THAT(open, IsOk());
  const auto endpoint = (*open)(0, 1);
  ASSERT_THAT(endpoint, IsOk());
  EXPECT_THAT((*endpoint)->Connect({(*endpoint)->address()}), IsOk());
}

TEST(ProcessorFormTest, ThreadsThatTheSystemRefusesAreSaid) {
  if (!evenpack::testing::LittleMemory::IsPossible()) GTEST_SKIP();
  const evenpack::testing::LittleMemory little;
  EXPECT_THAT(OnProcessor(1000).status(),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("of 1000")));
}

TEST(ProcessorFormTest, AStreamIsNothingToIt) {
  const auto form = OnProcessor(1).value();
  EXPECT_THAT(form->After(nullptr), IsOk());
  EXPECT_THAT(form->Before(nullptr), IsOk());
}

}  // namespace
}  // namespace evenpack::worker
