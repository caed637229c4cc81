#include "server/access/token_hash.h"

#include <openssl/sha.h>

#include <cstddef>

namespace evenpack {
namespace {

// -1 for what is no hexadecimal digit.
int DigitOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

TokenHash HashOfToken(std::string_view token) {
  TokenHash hash;
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(),
         hash.data());
  return hash;
}

std::optional<TokenHash> ParseTokenHash(std::string_view hex) {
  TokenHash hash;
  if (hex.size() != 2 * hash.size()) return std::nullopt;
  for (size_t i = 0; i < hash.size(); ++i) {
    const int high = DigitOf(hex[2 * i]);
    const int low = DigitOf(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    hash[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return hash;
}

bool SameHash(const TokenHash& a, const TokenHash& b) {
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned>(a[i] ^ b[i]);
  }
  return difference == 0;
}

}  // namespace evenpack
