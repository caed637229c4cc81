#include "server/access/token_hash.h"

#include <gtest/gtest.h>

#include <string>

namespace evenpack {
namespace {

// `printf abc | sha256sum`.
constexpr char kHashOfAbc[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(TokenHashTest, IsTheSha256ThatFilesHaveInHex) {
  const auto hash = ParseTokenHash(kHashOfAbc);
  ASSERT_TRUE(hash.has_value());
  EXPECT_EQ(HashOfToken("abc"), *hash);
  EXPECT_NE(HashOfToken("abd"), *hash);
  EXPECT_EQ(ParseTokenHash(
                "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"),
            *hash);
}

TEST(TokenHashTest, RefusesWhatIsNoHash) {
  const std::string hash = kHashOfAbc;
  for (const std::string& text :
       {std::string(), hash.substr(1), hash + "0", "g" + hash.substr(1),
        " " + hash.substr(1), "0x" + hash.substr(2), hash.substr(1) + "\n"}) {
    EXPECT_EQ(ParseTokenHash(text), std::nullopt) << text;
  }
}

TEST(TokenHashTest, AHashIsTheSameAsItselfAlone) {
  const TokenHash hash = HashOfToken("abc");
  EXPECT_TRUE(SameHash(hash, hash));
  for (size_t i = 0; i < hash.size(); ++i) {
    TokenHash other = hash;
    other[i] ^= 0x80;
    EXPECT_FALSE(SameHash(hash, other)) << i;
  }
}

}  // namespace
}  // namespace evenpack
