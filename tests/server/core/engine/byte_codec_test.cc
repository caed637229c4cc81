#include "server/core/engine/byte_codec.h"

#include <gtest/gtest.h>

#include <limits>

namespace evenpack {
namespace {

enum class Colour : uint8_t { kRed = 1, kBlue = 2 };

TEST(ByteCodecTest, WritesLittleEndianAndLengthsFirst) {
  ByteWriter writer;
  writer.All(uint32_t{0x01020304}, uint8_t{5}, true, Colour::kBlue, std::string("ab"),
             std::vector<uint16_t>{7});
  EXPECT_EQ(writer.bytes(), std::string("\4\3\2\1"
                                        "\5\1\2"
                                        "\2\0\0\0\0\0\0\0ab"
                                        "\1\0\0\0\0\0\0\0\7\0",
                                        27));
}

TEST(ByteCodecTest, ReadsBackWhatItWrote) {
  const int64_t negative = std::numeric_limits<int64_t>::min();
  const std::vector<std::string> texts = {"", std::string("a\0b", 3)};
  const std::optional<uint64_t> none;
  const std::optional<uint64_t> some = 9;
  ByteWriter writer;
  writer.All(negative, 0.1, texts, none, some, std::deque<uint64_t>{1, 2});
  ByteReader reader(writer.bytes());
  int64_t a = 0;
  double b = 0;
  std::vector<std::string> c;
  std::optional<uint64_t> d;
  std::optional<uint64_t> e;
  std::deque<uint64_t> f;
  reader.All(a, b, c, d, e, f);
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.AtEnd());
  EXPECT_EQ(a, negative);
  EXPECT_EQ(b, 0.1);
  EXPECT_EQ(c, texts);
  EXPECT_EQ(d, none);
  EXPECT_EQ(e, some);
  EXPECT_EQ(f, (std::deque<uint64_t>{1, 2}));
}

TEST(ByteCodecTest, ReadingPastTheEndFails) {
  ByteReader reader("abc");
  uint32_t value = 7;
  reader.All(value);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(value, 0U);
}

TEST(ByteCodecTest, ALengthBeyondTheBytesFailsWithoutAllocating) {
  ByteWriter writer;
  writer.All(std::numeric_limits<uint64_t>::max());
  ByteReader vector_reader(writer.bytes());
  std::vector<uint64_t> values;
  vector_reader.All(values);
  EXPECT_FALSE(vector_reader.ok());
  EXPECT_TRUE(values.empty());
  ByteReader text_reader(writer.bytes());
  std::string text;
  text_reader.All(text);
  EXPECT_FALSE(text_reader.ok());
}

TEST(ByteCodecTest, AFieldOfALaterVersionKeepsItsValue) {
  ByteWriter writer;
  writer.Since(5, uint64_t{7});
  for (const uint32_t version : {4U, 5U, 6U}) {
    ByteReader reader(writer.bytes());
    reader.set_version(version);
    uint64_t value = 9;
    reader.Since(5, value);
    EXPECT_EQ(value, version < 5 ? 9U : 7U);
    EXPECT_EQ(reader.AtEnd(), version >= 5);
  }
}

TEST(ByteCodecTest, ABooleanIsZeroOrOne) {
  ByteReader reader("\2");
  bool value = false;
  reader.All(value);
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace evenpack
