#include "server/control/store_failure.h"

#include <gtest/gtest.h>

#include "server/runtime/error_reason.h"
#include "server/runtime/status_detail.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using testing::StatusIs;

TEST(StoreFailureTest, TellsAFullDiskAndDamageFromWhatMayPass) {
  struct Case {
    absl::Status cause;
    absl::StatusCode code;
    const char* reason;
  };
  for (const Case& each : {
           Case{absl::ResourceExhaustedError("store: full"),
                absl::StatusCode::kResourceExhausted, "STORE_FULL"},
           Case{absl::DataLossError("full"), absl::StatusCode::kDataLoss,
                "STORE_DAMAGED"},
           Case{WithDetail(absl::FailedPreconditionError("full"),
                           {kStoreOtherVersion, {}}),
                absl::StatusCode::kFailedPrecondition, "STORE_OTHER_VERSION"},
           Case{absl::FailedPreconditionError("full"), absl::StatusCode::kUnavailable,
                "STORE_FAILED"},
           Case{absl::UnavailableError("full"), absl::StatusCode::kUnavailable,
                "STORE_FAILED"},
           Case{absl::InternalError("full"), absl::StatusCode::kUnavailable,
                "STORE_FAILED"},
       }) {
    const absl::Status told = StoreFailure("not stored", each.cause);
    EXPECT_THAT(told, StatusIs(each.code, "store: not stored: full"));
    EXPECT_EQ(DetailOf(told).reason, each.reason);
    EXPECT_EQ(IsStoreFailure(told),
              each.code != absl::StatusCode::kDataLoss &&
                  each.code != absl::StatusCode::kFailedPrecondition);
  }
}

TEST(StoreFailureTest, OfACommitInDoubtTheOutcomeIsUnknown) {
  const absl::Status told = CommitInDoubt(absl::UnknownError("store: away"));
  EXPECT_THAT(told, StatusIs(absl::StatusCode::kUnavailable,
                             "store: whether the change is stored is not known: away"));
  EXPECT_EQ(DetailOf(told), (StatusDetail{"STORE_FAILED", {{"outcome", "unknown"}}}));
  EXPECT_TRUE(IsCommitInDoubt(told));
  EXPECT_TRUE(IsStoreFailure(told));
  EXPECT_FALSE(
      IsCommitInDoubt(StoreFailure("not stored", absl::InternalError("full"))));
}

TEST(StoreFailureTest, OtherStatusesAreNone) {
  EXPECT_FALSE(IsStoreFailure(absl::OkStatus()));
  EXPECT_FALSE(IsStoreFailure(absl::UnavailableError("the server shuts down")));
  EXPECT_FALSE(IsStoreFailure(
      WithDetail(absl::UnavailableError("agent: away"), {"DRAINING", {}})));
}

}  // namespace
}  // namespace evenpack
