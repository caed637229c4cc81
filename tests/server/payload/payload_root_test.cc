#include "server/payload/payload_root.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "server/payload/token_batch.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::ScratchDirectory;
using testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Of little-endian numbers.
std::string Tokens(const std::vector<uint32_t>& numbers, size_t bytes = kTokenBytes) {
  std::string tokens;
  for (const uint32_t number : numbers) {
    for (size_t i = 0; i < bytes; ++i) {
      tokens.push_back(static_cast<char>((number >> (8 * i)) & 0xff));
    }
  }
  return tokens;
}

class PayloadRootTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = directory_.File(name);
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

  ScratchDirectory directory_;
  const PayloadRoot root_ = PayloadRoot::Open(directory_.File("")).value();
};

TEST_F(PayloadRootTest, ReadsDocumentsWhereverTheyLie) {
  const std::string path = Write("a.bin", Tokens({1, 2, 3, 4, 70'000, 0xffffffff}));
  EXPECT_EQ(root_.Read({path, 4, {16, 0, 4}}, std::vector<uint32_t>{2, 1, 3}).value(),
            Tokens({70'000, 0xffffffff, 1, 2, 3, 4}));
}

TEST_F(PayloadRootTest, NarrowTokensAreWidened) {
  const std::string path = Write("a.bin", Tokens({1, 2, 65'535, 0x8001, 5}, 2));
  EXPECT_EQ(root_.Read({path, 2, {4, 0}}, std::vector<uint32_t>{3, 1}).value(),
            Tokens({65'535, 0x8001, 5, 1}));
  EXPECT_EQ(root_.Read({path, 2, {}}, {}).value(), "");
}

TEST_F(PayloadRootTest, WhatIsNotAFileWithinTheFolderIsRefused) {
  const ScratchDirectory elsewhere;
  const std::string outside = elsewhere.File("b.bin");
  std::ofstream(outside) << "12345678";
  std::filesystem::create_symlink(outside, directory_.File("link"));
  std::filesystem::create_directory(directory_.File("folder"));
  Write("a.bin", "12345678");
  for (const std::string& path :
       {outside, directory_.File("link"), directory_.File("folder"),
        directory_.File("none"), directory_.File("../b.bin"), std::string("a.bin"),
        std::string(), directory_.File(""),
        directory_.File(std::string("a.bin") + '\0')}) {
    EXPECT_THAT(root_.Read({path, 4, {0}}, std::vector<uint32_t>{1}).status(),
                StatusIs(kInvalid, HasSubstr("token_file.path: '" + path + "'")));
  }
}

TEST_F(PayloadRootTest, LinksWithinTheFolderAreFollowed) {
  const std::string path = Write("a.bin", Tokens({7}));
  std::filesystem::create_symlink(path, directory_.File("link"));
  EXPECT_EQ(
      root_.Read({directory_.File("link"), 4, {0}}, std::vector<uint32_t>{1}).value(),
      Tokens({7}));
}

TEST_F(PayloadRootTest, AFolderThatBecomesALinkMeanwhileIsNoWayOut) {
  const ScratchDirectory elsewhere;
  std::ofstream(elsewhere.File("a.bin")) << Tokens({9});
  std::filesystem::create_directory(directory_.File("in"));
  Write("in/a.bin", Tokens({7}));
  std::filesystem::create_directory_symlink(elsewhere.File("."),
                                            directory_.File("out"));
  std::jthread swapping([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      ASSERT_EQ(renameat2(AT_FDCWD, directory_.File("in").c_str(), AT_FDCWD,
                          directory_.File("out").c_str(), RENAME_EXCHANGE),
                0);
    }
  });
  for (int i = 0; i < 3000; ++i) {
    const auto read =
        root_.Read({directory_.File("in/a.bin"), 4, {0}}, std::vector<uint32_t>{1});
    if (read.ok()) {
      ASSERT_EQ(*read, Tokens({7}));
    } else {
      ASSERT_THAT(read.status(), StatusIs(kInvalid, HasSubstr("token_file.path")));
    }
  }
}

TEST_F(PayloadRootTest, PlacesThatAreNotInTheFileAreRefused) {
  const std::string path = Write("a.bin", Tokens({1, 2, 3}));
  const auto refused = [&](const TokenFile& file) {
    return root_.Read(file, std::vector<uint32_t>{1, 2}).status();
  };
  EXPECT_THAT(refused({path, 3, {0, 0}}),
              StatusIs(kInvalid, HasSubstr("token_file.token_bytes: 3")));
  EXPECT_THAT(refused({path, 4, {0}}),
              StatusIs(kInvalid, HasSubstr("token_file.offset: 1 values")));
  EXPECT_THAT(refused({path, 4, {0, 5}}),
              StatusIs(kInvalid, HasSubstr("token_file.offset[1]: 5")));
  EXPECT_THAT(refused({path, 4, {~uint64_t{0}, 0}}),
              StatusIs(kInvalid, HasSubstr("token_file.offset[0]")));
  EXPECT_THAT(refused({path, 4, {8, 4}}), IsOk());
}

TEST_F(PayloadRootTest, WithoutAFolderNothingIsRead) {
  const std::string path = Write("a.bin", Tokens({1}));
  EXPECT_THAT(
      PayloadRoot().Read({path, 4, {0}}, std::vector<uint32_t>{1}).status(),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--payload-root")));
  EXPECT_THAT(PayloadRoot::Open(path).status(),
              StatusIs(kInvalid, HasSubstr("payload-root: '" + path + "'")));
  EXPECT_THAT(PayloadRoot::Open("/nowhere/at/all").status(),
              StatusIs(kInvalid, HasSubstr("a folder")));
}

}  // namespace
}  // namespace evenpack
