#include "gpu_worker/c_api/caught_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace evenpack::worker {
namespace {

using evenpack::testing::IsOk;
using evenpack::testing::StatusIs;
using ::testing::HasSubstr;

TEST(CaughtCallTest, HasTheCallsOwnResult) {
  EXPECT_THAT(Caught([] { return absl::OkStatus(); }), IsOk());
  EXPECT_THAT(Caught([] { return absl::AbortedError("again"); }),
              StatusIs(absl::StatusCode::kAborted, "again"));
}

TEST(CaughtCallTest, WhatTheSystemRefusesIsExhausted) {
  EXPECT_THAT(Caught([]() -> absl::Status { throw std::bad_alloc(); }),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("memory")));
  EXPECT_THAT(Caught([]() -> absl::Status {
                throw std::system_error(EAGAIN, std::generic_category(), "a thread");
              }),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("the system refused: a thread: Resource temp")));
}

TEST(CaughtCallTest, AnythingElseIsAnInternalError) {
  EXPECT_THAT(Caught([]() -> absl::Status { throw std::length_error("too long"); }),
              StatusIs(absl::StatusCode::kInternal, "internal error: too long"));
}

}  // namespace
}  // namespace evenpack::worker
