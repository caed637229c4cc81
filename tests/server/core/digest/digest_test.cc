#include "server/core/digest/digest.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace evenpack {
namespace {

// The reference implementation's vectors: key 00 01 .. 0f, message 00 01 .. (n-1).
constexpr uint64_t kReferenceKeyLow = 0x0706050403020100ULL;
constexpr uint64_t kReferenceKeyHigh = 0x0f0e0d0c0b0a0908ULL;

Digest128 ReferenceDigest(size_t length) {
  DigestBuilder builder(kReferenceKeyLow, kReferenceKeyHigh);
  std::string message;
  for (size_t i = 0; i < length; ++i) message.push_back(static_cast<char>(i));
  size_t at = 0;
  for (; at + 8 <= length; at += 8) {
    uint64_t word = 0;
    for (size_t i = 0; i < 8; ++i) word |= static_cast<uint64_t>(at + i) << (8 * i);
    builder.Word(word);
  }
  return builder.FinishWithTail(std::string_view(message).substr(at));
}

TEST(DigestTest, MatchesTheReferenceVectorsOfSipHash) {
  struct {
    size_t length;
    const char* hex;
  } const cases[] = {
      {0, "a3817f04ba25a8e66df67214c7550293"}, {1, "da87c1d86b99af44347659119b22fc45"},
      {2, "8177228da4a45dc7fca38bdef60affe4"}, {3, "9c70b60c5267a94e5f33b6b02985ed51"},
      {4, "f88164c12d9c8faf7d0f6e7c7bcd5579"}, {5, "1368875980776f8854527a07690e9627"},
      {6, "14eeca338b208613485ea0308fd7a15e"}, {7, "a1f1ebbed8dbc153c0b84aa61ff08239"},
      {8, "3b62a9ba6258f5610f83e264f31497b4"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(ToHex(ReferenceDigest(c.length)), c.hex) << c.length;
  }
}

TEST(DigestTest, HexIsTheBytesInOrder) {
  EXPECT_EQ(ToHex({0x0706050403020100ULL, 0x0f0e0d0c0b0a0908ULL}),
            "000102030405060708090a0b0c0d0e0f");
}

TEST(DigestTest, ATextIsItsLengthAndItsBytesInWords) {
  DigestBuilder text;
  text.Text("evenpack!");
  DigestBuilder words;
  words.Word(9);
  words.Word(0x6b6361706e657665ULL);  // "evenpack"
  words.Word(0x21);
  EXPECT_EQ(text.Finish(), words.Finish());
}

TEST(DigestTest, TextsOfOneConcatenationDiffer) {
  DigestBuilder one;
  one.Text("ab");
  one.Text("c");
  DigestBuilder other;
  other.Text("a");
  other.Text("bc");
  EXPECT_NE(one.Finish(), other.Finish());
}

TEST(DigestTest, EveryBitOfAWordMatters) {
  DigestBuilder zero;
  zero.Word(0);
  const Digest128 of_zero = zero.Finish();
  for (int bit = 0; bit < 64; ++bit) {
    DigestBuilder builder;
    builder.Word(uint64_t{1} << bit);
    EXPECT_NE(builder.Finish(), of_zero) << bit;
  }
}

}  // namespace
}  // namespace evenpack
