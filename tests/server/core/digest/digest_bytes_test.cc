#include "server/core/digest/digest_bytes.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace evenpack {
namespace {

TEST(DigestBytesTest, AreTheBytesThatTheHexadecimalFormNames) {
  const Digest128 digest = {0x0706050403020100, 0xffeeddccbbaa0908};
  const std::string bytes = DigestBytes(digest);
  ASSERT_EQ(bytes.size(), 16U);
  EXPECT_EQ(ToHex(digest),
            "000102030405060708"
            "09aabbccddeeff");
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(bytes[i], static_cast<char>(i));
  EXPECT_EQ(bytes.substr(10), "\xaa\xbb\xcc\xdd\xee\xff");
  EXPECT_EQ(DigestFromBytes(bytes), digest);
}

TEST(DigestBytesTest, AreAppended) {
  std::string bytes = DigestBytes({1, 2});
  AppendDigest({3, 4}, bytes);
  ASSERT_EQ(bytes.size(), 32U);
  EXPECT_EQ(DigestFromBytes(bytes.substr(16)), (Digest128{3, 4}));
}

TEST(DigestBytesTest, AnotherNumberOfBytesIsNoDigest) {
  for (const size_t size : {0U, 15U, 17U, 32U}) {
    EXPECT_EQ(DigestFromBytes(std::string(size, 'x')), std::nullopt);
  }
}

}  // namespace
}  // namespace evenpack
