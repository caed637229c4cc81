#include "server/store/postgresql_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::StatusIs;

TEST(PostgresqlTargetTest, IsAUriOrWhatStandsBehindTheColon) {
  EXPECT_EQ(PostgresqlTarget("postgresql://me@db:1/jobs").value(),
            "postgresql://me@db:1/jobs");
  // As libpq calls it too.
  EXPECT_EQ(PostgresqlTarget("postgres://me@db/jobs").value(), "postgres://me@db/jobs");
  EXPECT_EQ(PostgresqlTarget("postgresql:postgresql://db").value(), "postgresql://db");
  for (const char* target :
       {"host=db dbname=jobs", "host=@abstract", "postgresql://me:a%2Fb%40c@db/jobs",
        "postgresql://one:1,two:2/jobs"}) {
    EXPECT_EQ(PostgresqlTarget(absl::StrCat("postgresql:", target)).value(), target);
  }
}

TEST(PostgresqlTargetTest, WhatLibpqTakesForNoneIsRefusedWithoutBeingTold) {
  for (const char* name :
       {"", "postgresql", "postgresql:", "postgres:host=secret", "mysql://secret",
        "postgresql:secret", "postgresql:password=secret secret",
        "postgresql://me:secret@db:1/x?secret=1", "postgresql://me:secret@[db",
        "postgresql://me:sec/secret@db/jobs", "postgresql://me:1@secret@db/jobs",
        "postgresql:postgres://me:1/secret@db"}) {
    EXPECT_THAT(PostgresqlTarget(name),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("store"), Not(HasSubstr("secret")))))
        << name;
  }
}

TEST(PostgresqlTargetTest, TheRefusalHasTheSchemeThatWasGiven) {
  for (const char* scheme : {"postgresql:", "postgres:"}) {
    EXPECT_THAT(PostgresqlTarget(absl::StrCat(scheme, "//me:secret@[db")),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         StartsWith(absl::StrCat("store: what follows ", scheme,
                                                 " is not accepted; accepted: "))));
  }
}

TEST(PostgresqlTargetTest, ShowsWhereAndWhoAlone) {
  EXPECT_EQ(ShownTarget("postgresql://me:secret@db:1/jobs?sslpassword=secret"),
            "postgresql:user=me dbname=jobs host=db port=1");
  EXPECT_EQ(ShownTarget("host=db password=secret"), "postgresql:host=db");
  EXPECT_EQ(ShownTarget("nothing of it: secret"), "postgresql:");
}

TEST(PostgresqlTargetTest, LimitsStandAheadOfTheTargetWhichCanSetOthers) {
  const PostgresqlParameters parameters = ConnectionParameters("host=db");
  size_t target = 0;
  size_t limit = 0;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].first == "dbname") target = i;
    if (parameters[i].first == "connect_timeout") limit = i;
  }
  EXPECT_EQ(parameters[target].second, "host=db");
  EXPECT_LT(limit, target);
}

}  // namespace
}  // namespace evenpack
