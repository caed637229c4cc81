// What a fuzz target asserts. libFuzzer takes the end of the program for a finding and
// keeps the input.
#ifndef EVENPACK_TESTS_FUZZ_REQUIRE_H_
#define EVENPACK_TESTS_FUZZ_REQUIRE_H_

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace evenpack::fuzz {

inline void Require(bool holds, absl::string_view what, absl::string_view seen = "") {
  if (holds) return;
  std::fprintf(stderr, "BROKEN: %s: %s\n", std::string(what).c_str(),
               std::string(seen).c_str());
  std::abort();
}

inline void RequireOk(const absl::Status& status, absl::string_view what) {
  Require(status.ok(), what, status.ToString());
}

// A value that must be there.
template <typename T>
T Required(absl::StatusOr<T> result, absl::string_view what) {
  RequireOk(result.status(), what);
  return *std::move(result);
}

// `status` refuses with one of these codes, and says why.
template <typename... Codes>
void RequireRefusal(const absl::Status& status, absl::string_view what,
                    Codes... codes) {
  Require(((status.code() == codes) || ...) && !status.message().empty(), what,
          status.ToString());
}

}  // namespace evenpack::fuzz

#endif  // EVENPACK_TESTS_FUZZ_REQUIRE_H_
