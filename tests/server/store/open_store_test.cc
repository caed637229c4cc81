#include "server/store/open_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <initializer_list>
#include <utility>

#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using testing::ScratchDirectory;
using testing::StatusIs;

TEST(OpenStoreTest, OpensWhatIsNamed) {
  const auto memory = OpenStore("memory");
  ASSERT_THAT(memory, IsOk());
  EXPECT_FALSE((*memory)->CommitWaits());
  EXPECT_FALSE((*memory)->Keeps());
  const ScratchDirectory directory;
  const auto file = OpenStore("sqlite:" + directory.File("store"));
  ASSERT_THAT(file, IsOk());
  EXPECT_TRUE((*file)->CommitWaits());
  EXPECT_TRUE((*file)->Keeps());
  EXPECT_TRUE(std::filesystem::exists(directory.File("store")));
}

TEST(OpenStoreTest, RefusesOtherNames) {
  for (const char* name : {"", "sqlite", "sqlite:", "Memory", "postgres:x", "/tmp/x"}) {
    EXPECT_THAT(OpenStore(name).status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                                   HasSubstr("memory, sqlite:PATH")))
        << name;
    EXPECT_EQ(CheckStoreName(name), OpenStore(name).status());
  }
}

TEST(OpenStoreTest, OfANameThatIsNoStoresItsBeginningIsTold) {
  for (const auto& [name, told] :
       std::initializer_list<std::pair<const char*, const char*>>{
           {"Memory", "'Memory' is"},
           {"sqlite:", "'sqlite:' is"},
           {"/tmp/x", "'/tmp/x' is"},
           {"postgre://a", "'postgre:...' is"},
           {"host=db", "'host=...' is"}}) {
    EXPECT_THAT(CheckStoreName(name),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(told)));
  }
}

TEST(OpenStoreTest, ADatabasesNameIsCheckedWithoutTellingIt) {
  for (const char* name :
       {"postgresql://me:secret@db/evenpack", "postgresql:host=db password=secret",
        "postgres://me:secret@db/evenpack",
        "postgresql:postgresql://me:secret@db/evenpack"}) {
    EXPECT_THAT(CheckStoreName(name), IsOk()) << name;
    EXPECT_THAT(ShownStoreName(name), Not(HasSubstr("secret"))) << name;
    EXPECT_THAT(ShownStoreName(name), HasSubstr("host=db"));
  }
  for (const char* name :
       {"postgresql:", "postgresql:password=secret host", "postgresql:secret",
        "postgresql://me:secret@db:x y/evenpack?none=secret",
        "postgres://me:secret@[db", "Postgresql://me:secret@db/evenpack",
        "mysql://me:secret@db/evenpack", "host=db password=secret", "me secret"}) {
    EXPECT_THAT(CheckStoreName(name),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("store"), Not(HasSubstr("secret")))))
        << name;
  }
  EXPECT_EQ(ShownStoreName("sqlite:/a"), "sqlite:/a");
  EXPECT_EQ(ShownStoreName("memory"), "memory");
}

}  // namespace
}  // namespace evenpack
