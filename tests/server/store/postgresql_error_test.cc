#include "server/store/postgresql_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

TEST(PostgresqlErrorTest, TellsWhatHelps) {
  struct Case {
    const char* sqlstate;
    absl::StatusCode code;
  };
  for (const Case& each : {
           Case{"53100", absl::StatusCode::kResourceExhausted},
           Case{"53300", absl::StatusCode::kUnavailable},
           Case{"XX001", absl::StatusCode::kDataLoss},
           Case{"XX002", absl::StatusCode::kDataLoss},
           Case{"XX000", absl::StatusCode::kUnavailable},
           Case{"42501", absl::StatusCode::kFailedPrecondition},
           Case{"42P07", absl::StatusCode::kFailedPrecondition},
           Case{"23505", absl::StatusCode::kFailedPrecondition},
           Case{"25006", absl::StatusCode::kFailedPrecondition},
           Case{"3D000", absl::StatusCode::kFailedPrecondition},
           Case{"57014", absl::StatusCode::kUnavailable},
           Case{"57P01", absl::StatusCode::kUnavailable},
           Case{"40P01", absl::StatusCode::kUnavailable},
           Case{"55P03", absl::StatusCode::kUnavailable},
           Case{"", absl::StatusCode::kUnavailable},
       }) {
    EXPECT_THAT(PostgresqlError(each.sqlstate, "so it is"),
                StatusIs(each.code, AllOf(HasSubstr("store: so it is"),
                                          HasSubstr(each.sqlstate))));
  }
  EXPECT_THAT(PostgresqlError("EV001", "of no matter"),
              StatusIs(absl::StatusCode::kAborted, "store: another server leads"));
  EXPECT_THAT(PostgresqlError("EV002", "of no matter"),
              StatusIs(absl::StatusCode::kNotFound,
                       "store: the database has forgotten this server"));
  EXPECT_THAT(PostgresqlError("EV003", "a"),
              StatusIs(absl::StatusCode::kAlreadyExists, "job: 'a' is in the store"));
}

}  // namespace
}  // namespace evenpack
