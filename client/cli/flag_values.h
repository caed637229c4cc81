// The flags of a command line as typed, and their values as numbers.
#ifndef EVENPACK_CLIENT_CLI_FLAG_VALUES_H_
#define EVENPACK_CLIENT_CLI_FLAG_VALUES_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace evenpack {

// Flag name, with its dashes, to value; a switch has "true". Absent: not given.
using FlagValues = std::map<std::string, std::string>;

bool IsGiven(const FlagValues& values, const std::string& flag);

// Reads values one after another and keeps the first error, so that a reader of many
// flags checks once:
//
//   FlagReader reader(values);
//   const uint64_t seed = reader.Integer("--seed", {0, 100}, 0);
//   if (!reader.status().ok()) return reader.status();
//
// A flag that is not given has its fallback; one without a fallback is an error. What
// is returned after an error means nothing.
class FlagReader {
 public:
  struct Range {
    uint64_t least;
    uint64_t most;
  };

  // `values` must outlive the reader.
  explicit FlagReader(const FlagValues& values) : values_(values) {}

  std::string Text(const std::string& flag, std::string_view accepted,
                   std::optional<std::string> fallback = std::nullopt);
  // The position in `names` of the name that was given. Without fallback.
  size_t OneOf(const std::string& flag, std::span<const std::string_view> names);
  // Decimal digits.
  uint64_t Integer(const std::string& flag, Range range,
                   std::optional<uint64_t> fallback = std::nullopt);
  // As Integer; range.most is at most 2^32 - 1.
  uint32_t Integer32(const std::string& flag, Range range,
                     std::optional<uint32_t> fallback = std::nullopt);
  // A decimal number of `least` to `most`, a fraction too.
  double Real(const std::string& flag, double least, double most, double fallback);
  bool Boolean(const std::string& flag, bool fallback);
  // Token counts between commas.
  std::vector<uint32_t> Tokens(const std::string& flag, std::vector<uint32_t> fallback);

  void Fail(const absl::Status& status) { status_.Update(status); }
  // INVALID_ARGUMENT naming the flag, its value and what is accepted.
  const absl::Status& status() const { return status_; }

 private:
  // Nothing where the flag is not given; an error without a fallback.
  const std::string* Find(const std::string& flag, bool has_fallback,
                          std::string_view accepted);

  const FlagValues& values_;
  absl::Status status_;
};

// Of a step, an epoch, a sequence number.
inline constexpr FlagReader::Range kAnyNumber = {0,
                                                 std::numeric_limits<uint64_t>::max()};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_FLAG_VALUES_H_
