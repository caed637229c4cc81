// Matches a status, or a StatusOr, that refuses an input by InvalidField.
#ifndef EVENPACK_TESTS_SERVER_CORE_COST_REFUSED_FIELD_H_
#define EVENPACK_TESTS_SERVER_CORE_COST_REFUSED_FIELD_H_

#include <gmock/gmock.h>

#include <string>

#include "tests/testing/status_matchers.h"

namespace evenpack {

// INVALID_ARGUMENT whose message starts with "FIELD: VALUE is not accepted" and goes on
// to say `accepted`.
inline auto RefusesField(const std::string& field, const std::string& value,
                         const std::string& accepted) {
  return testing::StatusIs(
      absl::StatusCode::kInvalidArgument,
      ::testing::AllOf(
          ::testing::StartsWith(field + ": " + value + " is not accepted; accepted: "),
          ::testing::HasSubstr(accepted)));
}

}  // namespace evenpack

#endif  // EVENPACK_TESTS_SERVER_CORE_COST_REFUSED_FIELD_H_
