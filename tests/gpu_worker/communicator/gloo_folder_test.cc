#include "gpu_worker/communicator/gloo_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "server/core/document/invalid_field.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(GlooFolderTest, AGroupOfOneIsConnectedAtOnce) {
  const evenpack::testing::ScratchDirectory scratch;
  EXPECT_THAT(ConnectInFolder({{}, scratch.path(), "group"}), IsOk());
}

TEST(GlooFolderTest, ARankThatDoesNotComeIsToldOf) {
  const evenpack::testing::ScratchDirectory scratch;
  GlooFolder group{{}, scratch.path(), "group"};
  group.options.ranks = 2;
  group.options.connect_timeout = std::chrono::milliseconds(50);
  EXPECT_THAT(ConnectInFolder(group).status(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr("cp_rank 0 of 2 can't join group 'group'")));
}

TEST(GlooFolderTest, ANameThatWasUsedIsRefused) {
  const evenpack::testing::ScratchDirectory scratch;
  const GlooFolder group{{}, scratch.path(), "three"};
  ASSERT_THAT(ConnectInFolder(group), IsOk());
  EXPECT_THAT(
      ConnectInFolder(group).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("group: 'three' has or had a cp_rank 0 in folder '" +
                               scratch.path() + "'"),
                     HasSubstr("accepted: a name that no other group"))));
  EXPECT_THAT(ConnectInFolder({{}, scratch.path(), "four"}), IsOk());
}

TEST(GlooFolderTest, AFolderThatIsNoneIsToldOf) {
  EXPECT_THAT(ConnectInFolder({{}, "/nowhere/at/all", "group"}).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("'/nowhere/at/all'")));
}

TEST(GlooFolderTest, WhatCanBeNoRankIsRefused) {
  GlooFolder group{{}, "/nowhere/at/all", "group"};
  group.options.rank = 1;
  EXPECT_EQ(RefusedField(ConnectInFolder(group).status()), "rank");
}

}  // namespace
}  // namespace evenpack::worker
