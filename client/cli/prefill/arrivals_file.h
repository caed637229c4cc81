// When requests arrive, as a file says.
#ifndef EVENPACK_CLIENT_CLI_PREFILL_ARRIVALS_FILE_H_
#define EVENPACK_CLIENT_CLI_PREFILL_ARRIVALS_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace evenpack {

// 100 days, in which all requests must arrive.
inline constexpr int64_t kMostArrivalNs = int64_t{100} * 86'400 * 1'000'000'000;

// Nanoseconds from the beginning, of `count` requests: seconds a line, digits and up to
// nine more behind a point, at most kMostArrivalNs and none less than the one before.
// The first `count` lines are read. INVALID_ARGUMENT naming the line, or
// --arrivals-file where it can't be read or has fewer.
absl::StatusOr<std::vector<int64_t>> ReadArrivals(const std::string& path,
                                                  size_t count);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_PREFILL_ARRIVALS_FILE_H_
