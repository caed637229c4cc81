// The 128-bit digest by which two parties agree that they hold the same history.
//
//   DigestBuilder builder;
//   builder.Word(step_index);
//   builder.Text("stream-name");
//   Digest128 digest = builder.Finish();
//
// The hash is SipHash-2-4 with 128 bits of output (Aumasson and Bernstein, "SipHash:
// a fast short-input PRF", and their reference implementation for the long output)
// under a fixed, public key: it finds accidents, it does not authenticate.
// Everything hashed is a sequence of 64-bit little-endian words, so the digest is the
// SipHash of that byte string on any machine. docs/formats.md gives the word
// sequences of each digest.
#ifndef EVENPACK_SERVER_CORE_DIGEST_DIGEST_H_
#define EVENPACK_SERVER_CORE_DIGEST_DIGEST_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace evenpack {

struct Digest128 {
  uint64_t low = 0;   // bytes 0 to 7 of SipHash's output
  uint64_t high = 0;  // bytes 8 to 15

  friend bool operator==(const Digest128&, const Digest128&) = default;
};

// 32 lower-case hexadecimal digits: the output's bytes in order.
std::string ToHex(const Digest128& digest);

// Hashes a sequence of words. Not thread-safe; an object is used once.
class DigestBuilder {
 public:
  DigestBuilder() : DigestBuilder(kKeyLow, kKeyHigh) {}
  // A key of one's own is for tests against the reference vectors.
  DigestBuilder(uint64_t key_low, uint64_t key_high);

  void Word(uint64_t word) {
    v3_ ^= word;
    Round();
    Round();
    v0_ ^= word;
    ++words_;
  }
  void Add(const Digest128& digest) {
    Word(digest.low);
    Word(digest.high);
  }
  // The length in bytes, then the bytes, zero-filled to whole words.
  void Text(std::string_view text);

  Digest128 Finish();
  // As Finish, for a text that ends with `tail`: up to 7 bytes, unprefixed.
  Digest128 FinishWithTail(std::string_view tail);

 private:
  // The first 16 bytes of the fractional part of the square root of two, so that
  // nobody needs to wonder where they come from.
  static constexpr uint64_t kKeyLow = 0x6a09e667f3bcc908ULL;
  static constexpr uint64_t kKeyHigh = 0xb2fb1366ea957d3eULL;

  static constexpr uint64_t Rotate(uint64_t x, int bits) {
    return (x << bits) | (x >> (64 - bits));
  }
  void Round() {
    v0_ += v1_;
    v1_ = Rotate(v1_, 13) ^ v0_;
    v0_ = Rotate(v0_, 32);
    v2_ += v3_;
    v3_ = Rotate(v3_, 16) ^ v2_;
    v0_ += v3_;
    v3_ = Rotate(v3_, 21) ^ v0_;
    v2_ += v1_;
    v1_ = Rotate(v1_, 17) ^ v2_;
    v2_ = Rotate(v2_, 32);
  }

  uint64_t v0_;
  uint64_t v1_;
  uint64_t v2_;
  uint64_t v3_;
  uint64_t words_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_DIGEST_DIGEST_H_
