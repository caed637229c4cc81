// Token ids as the API has them: little-endian 32-bit integers one after another.
#ifndef EVENPACK_CLIENT_CPP_TOKEN_IDS_H_
#define EVENPACK_CLIENT_CPP_TOKEN_IDS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace evenpack::client {

// Of a token id.
inline constexpr size_t kTokenIdBytes = 4;

inline void AppendTokenIds(std::span<const uint32_t> token_ids, std::string& bytes) {
  const size_t held = bytes.size();
  bytes.resize(held + token_ids.size() * kTokenIdBytes);
  char* to = bytes.data() + held;
  for (const uint32_t token_id : token_ids) {
    to[0] = static_cast<char>(token_id);
    to[1] = static_cast<char>(token_id >> 8);
    to[2] = static_cast<char>(token_id >> 16);
    to[3] = static_cast<char>(token_id >> 24);
    to += kTokenIdBytes;
  }
}

// Bytes behind the last whole token id are left out.
inline std::vector<uint32_t> ReadTokenIds(const std::string& bytes) {
  const auto byte = [&bytes](size_t at) {
    return uint32_t{static_cast<unsigned char>(bytes[at])};
  };
  std::vector<uint32_t> token_ids(bytes.size() / kTokenIdBytes);
  size_t at = 0;
  for (uint32_t& token_id : token_ids) {
    token_id = byte(at) | byte(at + 1) << 8 | byte(at + 2) << 16 | byte(at + 3) << 24;
    at += kTokenIdBytes;
  }
  return token_ids;
}

}  // namespace evenpack::client

#endif  // EVENPACK_CLIENT_CPP_TOKEN_IDS_H_
