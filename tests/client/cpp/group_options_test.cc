#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/cpp/group_member.h"
#include "tests/testing/status_matchers.h"

namespace evenpack::client {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::StatusIs;
using ::testing::HasSubstr;

TEST(GroupOptions, RefusesWhatCannotWorkNamingTheField) {
  const GroupOptions good{.job = "run", .cp_size = 4, .cp_rank = 3, .member = "a"};
  EXPECT_THAT(Validate(good), IsOk());
  const auto refused = [&good](auto change) {
    GroupOptions options = good;
    change(options);
    return Validate(options);
  };
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(refused([](auto& o) { o.job = ""; }),
              StatusIs(code, HasSubstr("job: ''")));
  EXPECT_THAT(refused([](auto& o) { o.cp_size = 0; }),
              StatusIs(code, HasSubstr("cp_size: 0")));
  EXPECT_THAT(refused([](auto& o) { o.cp_rank = 4; }),
              StatusIs(code, HasSubstr("cp_rank: 4")));
  EXPECT_THAT(refused([](auto& o) { o.member = ""; }),
              StatusIs(code, HasSubstr("member: 0 bytes")));
  EXPECT_THAT(refused([](auto& o) { o.member = std::string(257, 'x'); }),
              StatusIs(code, HasSubstr("member: 257 bytes")));
}

}  // namespace
}  // namespace evenpack::client
