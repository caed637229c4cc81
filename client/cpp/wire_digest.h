// The digests of a step's micro-batches as they travel (docs/formats.md).
#ifndef EVENPACK_CLIENT_CPP_WIRE_DIGEST_H_
#define EVENPACK_CLIENT_CPP_WIRE_DIGEST_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "server/core/digest/digest.h"

namespace evenpack::client {

// One after another. Nothing where the bytes aren't a multiple of 16.
std::optional<std::vector<Digest128>> ReadDigests(std::string_view bytes);

// Digest of a step from those of all its micro-batches: the same as StepDigest of
// server/core/document/step.h, which needs the micro-batches themselves.
Digest128 StepDigestOf(const Digest128& previous, uint64_t index,
                       std::span<const Digest128> micro_batches);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_WIRE_DIGEST_H_
