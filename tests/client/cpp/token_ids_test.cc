#include "client/cpp/token_ids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace evenpack::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TokenIds, AreLittleEndian) {
  std::string bytes = "held";
  AppendTokenIds(std::vector<uint32_t>{0x04030201, 0xfffefd80}, bytes);
  EXPECT_EQ(bytes, "held\x01\x02\x03\x04\x80\xfd\xfe\xff");
  EXPECT_THAT(ReadTokenIds(bytes.substr(4)), ElementsAre(0x04030201U, 0xfffefd80U));
}

TEST(TokenIds, NoneAreNoBytes) {
  std::string bytes;
  AppendTokenIds({}, bytes);
  EXPECT_EQ(bytes, "");
  EXPECT_THAT(ReadTokenIds(bytes), IsEmpty());
}

TEST(TokenIds, WhatIsNoWholeTokenIsLeftOut) {
  EXPECT_THAT(ReadTokenIds("abc"), IsEmpty());
  EXPECT_THAT(ReadTokenIds(std::string("\x05\0\0\0\x06", 5)), ElementsAre(5));
}

}  // namespace
}  // namespace evenpack::client
