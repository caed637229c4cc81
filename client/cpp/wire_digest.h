// Digests as they travel: 16 bytes, those of the hash in order (docs/formats.md).
#ifndef EVENPACK_CLIENT_CPP_WIRE_DIGEST_H_
#define EVENPACK_CLIENT_CPP_WIRE_DIGEST_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/digest/digest.h"

namespace evenpack::client {

std::string DigestBytes(const Digest128& digest);

// Nothing where there aren't 16 bytes.
std::optional<Digest128> ReadDigest(std::string_view bytes);
// One after another. Nothing where the bytes aren't a multiple of 16.
std::optional<std::vector<Digest128>> ReadDigests(std::string_view bytes);

// Digest of a step from those of all its micro-batches: the same as StepDigest of
// server/core/document/step.h, which needs the micro-batches themselves.
Digest128 StepDigestOf(const Digest128& previous, uint64_t index,
                       std::span<const Digest128> micro_batches);

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_WIRE_DIGEST_H_
