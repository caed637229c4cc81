#include "server/control/cost_profile_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/runtime/status_detail.h"
#include "tests/testing/awaited.h"
#include "tests/testing/control_room.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CostProfileRegistryTest : public ::testing::Test {
 protected:
  std::shared_ptr<CostProfileRegistry> Make() {
    return std::make_shared<CostProfileRegistry>(room_.committer(), room_.store(),
                                                 room_.clock());
  }
  absl::Status Put(const std::string& name, const std::string& bytes) {
    const Awaited<absl::Status> done;
    profiles_->Put(name, bytes, done);
    return done.Get();
  }
  absl::Status Remove(const std::string& name) {
    const Awaited<absl::Status> done;
    profiles_->Remove(name, done);
    return done.Get();
  }
  static std::vector<std::string> NamesOf(const CostProfileRegistry::Listed& listed) {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : listed) names.push_back(name);
    return names;
  }

  ControlRoom room_;
  std::shared_ptr<CostProfileRegistry> profiles_ = Make();
};

TEST_F(CostProfileRegistryTest, KeepsReplacesAndRemovesByName) {
  EXPECT_THAT(profiles_->Find("p").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'p'")));
  ASSERT_THAT(Put("p", "old"), IsOk());
  ASSERT_THAT(Put("p", "new"), IsOk());
  EXPECT_EQ(profiles_->Find("p").value(), "new");
  ASSERT_THAT(Remove("p"), IsOk());
  EXPECT_THAT(profiles_->Find("p").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'p'")));
  const absl::Status again = Remove("p");
  EXPECT_THAT(again, StatusIs(absl::StatusCode::kNotFound, HasSubstr("'p'")));
  EXPECT_EQ(DetailOf(again).reason, "PROFILE_NOT_FOUND");
}

TEST_F(CostProfileRegistryTest, ListsByNameFromANameOn) {
  for (const char* name : {"c", "a", "b"}) ASSERT_THAT(Put(name, name), IsOk());
  EXPECT_THAT(NamesOf(profiles_->List("", 2)), ElementsAre("a", "b"));
  EXPECT_THAT(NamesOf(profiles_->List("b", 2)), ElementsAre("c"));
}

TEST_F(CostProfileRegistryTest, AnotherServerFindsWhatWasCommitted) {
  ASSERT_THAT(Put("p", "bytes"), IsOk());
  ASSERT_THAT(Put("q", "bytes"), IsOk());
  ASSERT_THAT(Remove("q"), IsOk());
  const auto other = Make();
  ASSERT_THAT(other->Recover(), IsOk());
  EXPECT_EQ(other->Find("p").value(), "bytes");
  EXPECT_THAT(NamesOf(other->List("", 10)), ElementsAre("p"));
}

TEST_F(CostProfileRegistryTest, NothingIsFoundBeforeItIsCommitted) {
  room_.store().Block();
  const Awaited<absl::Status> done;
  profiles_->Put("p", "bytes", done);
  room_.store().WaitUntilBlocked();
  EXPECT_THAT(profiles_->Find("p").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'p'")));
  room_.store().Release();
  ASSERT_THAT(done.Get(), IsOk());
  EXPECT_EQ(profiles_->Find("p").value(), "bytes");
}

TEST_F(CostProfileRegistryTest, AFailedCommitChangesNothing) {
  ASSERT_THAT(Put("p", "old"), IsOk());
  room_.store().FailCommitsOf("p");
  const absl::Status put = Put("p", "new");
  EXPECT_THAT(put, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("not stored")));
  EXPECT_EQ(DetailOf(put).reason, "STORE_FAILED");
  EXPECT_THAT(Remove("p"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("not stored")));
  EXPECT_EQ(profiles_->Find("p").value(), "old");
  room_.store().FailCommitsOf("");
  ASSERT_THAT(Put("p", "new"), IsOk());
  EXPECT_EQ(profiles_->Find("p").value(), "new");
}

TEST_F(CostProfileRegistryTest, HoldsSoManyAndNoMore) {
  for (size_t i = 0; i < CostProfileRegistry::kMaxProfiles; ++i) {
    ASSERT_THAT(Put(absl::StrCat("p", i), ""), IsOk());
  }
  const absl::Status full = Put("one more", "");
  EXPECT_THAT(full, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("1000")));
  EXPECT_EQ(DetailOf(full).reason, "TOO_MANY_PROFILES");
  EXPECT_THAT(Put("p7", "replaced"), IsOk());
  ASSERT_THAT(Remove("p8"), IsOk());
  EXPECT_THAT(Put("one more", ""), IsOk());
}

}  // namespace
}  // namespace evenpack::testing
