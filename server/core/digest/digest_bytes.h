// Digests as they are stored and sent: 16 bytes, in the order of docs/formats.md.
#ifndef EVENPACK_SERVER_CORE_DIGEST_DIGEST_BYTES_H_
#define EVENPACK_SERVER_CORE_DIGEST_DIGEST_BYTES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/core/digest/digest.h"

namespace evenpack {

inline constexpr size_t kDigestBytes = 16;

inline void AppendDigest(const Digest128& digest, std::string& bytes) {
  std::array<char, kDigestBytes> digest_bytes;
  for (size_t i = 0; i < kDigestBytes; ++i) {
    const uint64_t word = i < 8 ? digest.low : digest.high;
    digest_bytes[i] = static_cast<char>((word >> (i % 8 * 8)) & 0xff);
  }
  bytes.append(digest_bytes.data(), digest_bytes.size());
}

inline std::string DigestBytes(const Digest128& digest) {
  std::string bytes;
  AppendDigest(digest, bytes);
  return bytes;
}

// None unless there are 16 bytes.
inline std::optional<Digest128> DigestFromBytes(std::string_view bytes) {
  if (bytes.size() != kDigestBytes) return std::nullopt;
  Digest128 digest;
  for (size_t i = kDigestBytes; i-- > 0;) {
    uint64_t& word = i < 8 ? digest.low : digest.high;
    word = word << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return digest;
}

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_DIGEST_DIGEST_BYTES_H_
