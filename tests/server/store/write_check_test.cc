#include "server/store/write_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::IsOk;
using testing::StatusIs;

// Checks against a store that has two records of "a" and none of anything else.
absl::Status Check(const std::vector<StoreWrite>& writes) {
  return CheckWrites(writes, [](const std::string& job) -> std::optional<uint64_t> {
    if (job == "a") return 2;
    return std::nullopt;
  });
}

TEST(WriteCheckTest, AWriteFollowsThoseBeforeItInTheSameCommit) {
  EXPECT_THAT(Check({}), IsOk());
  EXPECT_THAT(Check({AppendRecord{"a", 2, ""}, AppendRecord{"a", 3, ""},
                     WriteSnapshot{"a", 4, ""}, AppendRecord{"a", 4, ""}}),
              IsOk());
  EXPECT_THAT(Check({AppendRecord{"b", 0, ""}, AppendRecord{"a", 2, ""},
                     AppendRecord{"b", 1, ""}, WriteSnapshot{"b", 2, ""}}),
              IsOk());
  EXPECT_THAT(
      Check({RemoveJob{"a"}, AppendRecord{"a", 0, ""}, AppendRecord{"a", 1, ""}}),
      IsOk());
  EXPECT_THAT(Check({WriteSnapshot{"a", 2, ""}, WriteSnapshot{"a", 2, ""}}), IsOk());
}

TEST(WriteCheckTest, ProfilesFollowNothing) {
  EXPECT_THAT(Check({RemoveProfile{"p"}, WriteProfile{"a", ""}, WriteProfile{"a", ""},
                     AppendRecord{"a", 2, ""}, RemoveProfile{"a"}}),
              IsOk());
}

TEST(WriteCheckTest, RefusesWhatDoesNotFollow) {
  using Code = absl::StatusCode;
  struct {
    std::vector<StoreWrite> writes;
    Code code;
    std::string message;
  } const cases[] = {
      {{AppendRecord{"a", 0, ""}}, Code::kAlreadyExists, "job: 'a' is in the store"},
      {{AppendRecord{"b", 0, ""}, AppendRecord{"b", 0, ""}},
       Code::kAlreadyExists,
       "job: 'b' is in the store"},
      {{AppendRecord{"a", 1, ""}},
       Code::kOutOfRange,
       "record: 1 of job 'a' is not accepted; accepted: 2"},
      {{AppendRecord{"a", 2, ""}, AppendRecord{"a", 2, ""}},
       Code::kOutOfRange,
       "record: 2 of job 'a' is not accepted; accepted: 3"},
      {{AppendRecord{"b", 1, ""}}, Code::kNotFound, "job: 'b' is not in the store"},
      {{RemoveJob{"a"}, AppendRecord{"a", 2, ""}},
       Code::kNotFound,
       "job: 'a' is not in the store"},
      {{RemoveJob{"a"}, RemoveJob{"a"}},
       Code::kNotFound,
       "job: 'a' is not in the store"},
      {{RemoveJob{"a"}, WriteSnapshot{"a", 2, ""}},
       Code::kNotFound,
       "job: 'a' is not in the store"},
      {{AppendRecord{"a", 2, ""}, WriteSnapshot{"a", 2, ""}},
       Code::kOutOfRange,
       "snapshot: of 2 records of job 'a' is not accepted; accepted: of 3"},
  };
  for (const auto& refused : cases) {
    EXPECT_THAT(Check(refused.writes), StatusIs(refused.code, refused.message));
  }
}

TEST(WriteCheckTest, AsksOfEachJobOnce) {
  std::map<std::string, int> asked;
  const std::vector<StoreWrite> writes = {AppendRecord{"a", 0, ""},
                                          AppendRecord{"b", 0, ""},
                                          AppendRecord{"a", 1, ""}, RemoveJob{"a"}};
  EXPECT_THAT(CheckWrites(writes,
                          [&asked](const std::string& job) -> std::optional<uint64_t> {
                            ++asked[job];
                            return std::nullopt;
                          }),
              IsOk());
  EXPECT_EQ(asked, (std::map<std::string, int>{{"a", 1}, {"b", 1}}));
}

}  // namespace
}  // namespace evenpack
