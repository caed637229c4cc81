#include "server/store/open_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::ScratchDirectory;
using testing::StatusIs;

TEST(OpenStoreTest, OpensWhatIsNamed) {
  const auto memory = OpenStore("memory");
  ASSERT_THAT(memory, IsOk());
  EXPECT_FALSE((*memory)->CommitWaits());
  const ScratchDirectory directory;
  const auto file = OpenStore("sqlite:" + directory.File("store"));
  ASSERT_THAT(file, IsOk());
  EXPECT_TRUE((*file)->CommitWaits());
  EXPECT_TRUE(std::filesystem::exists(directory.File("store")));
}

TEST(OpenStoreTest, RefusesOtherNames) {
  for (const char* name : {"", "sqlite", "sqlite:", "Memory", "postgres:x", "/tmp/x"}) {
    EXPECT_THAT(OpenStore(name).status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                                   HasSubstr("memory, or sqlite:PATH")))
        << name;
    EXPECT_EQ(CheckStoreName(name), OpenStore(name).status());
  }
}

}  // namespace
}  // namespace evenpack
