#include "server/core/digest/digest.h"

#include <array>
#include <bit>
#include <cstring>

namespace evenpack {
namespace {

uint64_t LoadWord(std::string_view bytes) {
  uint64_t word = 0;
  if (std::endian::native == std::endian::little && bytes.size() >= 8) {
    std::memcpy(&word, bytes.data(), 8);
    return word;
  }
  for (size_t i = 0; i < bytes.size() && i < 8; ++i) {
    word |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return word;
}

void AppendHex(uint64_t word, std::string& out) {
  static constexpr std::array<char, 17> kDigits = {"0123456789abcdef"};
  for (int byte = 0; byte < 8; ++byte) {
    const auto value = static_cast<unsigned>((word >> (8 * byte)) & 0xff);
    out.push_back(kDigits[value >> 4]);
    out.push_back(kDigits[value & 0xf]);
  }
}

}  // namespace

std::string ToHex(const Digest128& digest) {
  std::string out;
  out.reserve(32);
  AppendHex(digest.low, out);
  AppendHex(digest.high, out);
  return out;
}

DigestBuilder::DigestBuilder(uint64_t key_low, uint64_t key_high)
    : v0_(key_low ^ 0x736f6d6570736575ULL),
      v1_(key_high ^ 0x646f72616e646f6dULL ^ 0xee),
      v2_(key_low ^ 0x6c7967656e657261ULL),
      v3_(key_high ^ 0x7465646279746573ULL) {}

void DigestBuilder::Text(std::string_view text) {
  Word(text.size());
  for (size_t at = 0; at < text.size(); at += 8) Word(LoadWord(text.substr(at, 8)));
}

Digest128 DigestBuilder::Finish() { return FinishWithTail({}); }

Digest128 DigestBuilder::FinishWithTail(std::string_view tail) {
  const uint64_t bytes = words_ * 8 + tail.size();
  const uint64_t last = (bytes << 56) | LoadWord(tail);
  v3_ ^= last;
  Round();
  Round();
  v0_ ^= last;
  v2_ ^= 0xee;
  for (int i = 0; i < 4; ++i) Round();
  const uint64_t low = v0_ ^ v1_ ^ v2_ ^ v3_;
  v1_ ^= 0xdd;
  for (int i = 0; i < 4; ++i) Round();
  return {low, v0_ ^ v1_ ^ v2_ ^ v3_};
}

}  // namespace evenpack
