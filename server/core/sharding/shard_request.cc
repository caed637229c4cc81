#include "server/core/sharding/shard_request.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

// Documents are numbered by 32 bits, and the sum of their padded lengths then stays
// below 2^63.
constexpr size_t kMaxDocuments = 2147483647;

}  // namespace

absl::StatusOr<uint32_t> PadMultiple(uint32_t context_parallel, uint32_t pad_to) {
  if (absl::Status status =
          CheckRange("context_parallel", context_parallel, 1, kMaxContextParallel);
      !status.ok()) {
    return status;
  }
  if (pad_to > kMaxPadMultiple) {
    return InvalidField("pad_to", pad_to,
                        absl::StrCat("0 (no padding) to ", kMaxPadMultiple));
  }
  if (pad_to == 0) return uint32_t{0};
  const uint64_t multiple = std::lcm<uint64_t>(pad_to, 2 * context_parallel);
  if (multiple > kMaxPadMultiple) {
    return InvalidField(
        "pad_to", pad_to,
        absl::StrCat("a number whose least common multiple with ", 2 * context_parallel,
                     " (twice context_parallel) is at most ", kMaxPadMultiple));
  }
  return static_cast<uint32_t>(multiple);
}

absl::Status ValidateShardRequest(std::span<const uint32_t> lengths,
                                  uint32_t context_parallel, uint32_t pad_to) {
  const absl::StatusOr<uint32_t> multiple = PadMultiple(context_parallel, pad_to);
  if (!multiple.ok()) return multiple.status();
  if (lengths.size() > kMaxDocuments) {
    return InvalidField("documents", lengths.size(),
                        absl::StrCat("up to ", kMaxDocuments));
  }
  const auto bad = std::find_if(lengths.begin(), lengths.end(), [](uint32_t length) {
    return length < 1 || length > kMaxDocumentLength;
  });
  if (bad != lengths.end()) {
    return InvalidField(absl::StrCat("lengths[", bad - lengths.begin(), "]"), *bad,
                        absl::StrCat("1 to ", kMaxDocumentLength));
  }
  return absl::OkStatus();
}

}  // namespace evenpack
