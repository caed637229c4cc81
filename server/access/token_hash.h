// Tokens by their SHA-256: a roles file, and this program, keep nothing else of them.
#ifndef EVENPACK_SERVER_ACCESS_TOKEN_HASH_H_
#define EVENPACK_SERVER_ACCESS_TOKEN_HASH_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace evenpack {

using TokenHash = std::array<uint8_t, 32>;

TokenHash HashOfToken(std::string_view token);

// 64 hexadecimal digits of either case; none for any other text.
std::optional<TokenHash> ParseTokenHash(std::string_view hex);

// Takes as long whether they are alike, and wherever they are not.
bool SameHash(const TokenHash& a, const TokenHash& b);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_ACCESS_TOKEN_HASH_H_
