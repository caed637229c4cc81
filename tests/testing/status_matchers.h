// Matchers for absl::Status and absl::StatusOr.
#ifndef EVENPACK_TESTS_TESTING_STATUS_MATCHERS_H_
#define EVENPACK_TESTS_TESTING_STATUS_MATCHERS_H_

#include <gmock/gmock.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace evenpack::testing {

// What most refusals are.
inline constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return arg.ok();
}

// The exact code, and a matcher for the message.
MATCHER_P2(StatusIs, code, message, "has the code and a message that matches") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).code() == code &&
         ::testing::ExplainMatchResult(message, std::string(StatusOf(arg).message()),
                                       result_listener);
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_STATUS_MATCHERS_H_
