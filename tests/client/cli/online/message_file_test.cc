#include "client/cli/online/message_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "evenpack/v1/cost_profile.pb.h"
#include "tests/testing/scratch_directory.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ScratchDirectory;
using testing::StatusIs;

TEST(MessageFileTest, ReadsAnyMessageInEachForm) {
  struct Case {
    std::string path;
    std::string text;
  };
  const Case cases[] = {
      {"p.json", R"({"name": "a", "heads": {"query_heads": 4}})"},
      {"p.json", R"({"name": "a", "heads": {"queryHeads": 4}})"},
      {"p.yaml", "name: a\nheads:\n  query_heads: 4\n"},
      {"p.textproto", "name: 'a' heads { query_heads: 4 }"},
      {"p", R"({"name": "a", "heads": {"query_heads": 4}})"},
      {"p", "name: 'a' heads { query_heads: 4 }"},
      {"p", "name: a\nheads: {query_heads: 4}\n"},
  };
  for (const Case& each : cases) {
    v1::CostProfile profile;
    profile.set_kernel("of before");
    ASSERT_THAT(ParseMessage("FILE", each.path, each.text, profile), IsOk());
    EXPECT_EQ(profile.name(), "a") << each.text;
    EXPECT_EQ(profile.heads().query_heads(), 4U) << each.text;
    EXPECT_EQ(profile.kernel(), "");
  }
}

TEST(MessageFileTest, AFieldOfJsonThatComesTwiceIsRefusedByItsName) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"name": "a", "name": "b"})", "'name'"},
      {R"({"heads": {"query_heads": 4, "head_dim": 1, "query_heads": 4}})",
       "'heads.query_heads'"},
      {R"({"heads": {}, "x": [{"a": {"b": 1}}, {"a": {"b": 1, "b": 2}}]})", "'x.a.b'"},
      {R"({"heads": {"a": 1}, "heads": {"a": 2}})", "'heads'"},
  };
  for (const auto& [text, name] : cases) {
    v1::CostProfile profile;
    EXPECT_THAT(
        ParseMessage("FILE", "p.json", text, profile),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 "FILE 'p.json': " + name +
                     ": a second value is not accepted; accepted: each field once"));
  }
  v1::CostProfile profile;
  EXPECT_THAT(
      ParseMessage("FILE", "p.json", R"({"heads": {"queryHeads": 4}})", profile),
      IsOk());
}

TEST(MessageFileTest, NamesTheFlagTheFileAndThePlace) {
  v1::CostProfile profile;
  EXPECT_THAT(ParseMessage("FILE", "p.textproto", "nam: 'a'", profile),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("FILE 'p.textproto': line 1, column 4"))));
  for (const char* text : {"root:x:0:0", "- 1", "[1]", "7"}) {
    EXPECT_THAT(ParseMessage("FILE", "p.yaml", text, profile),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         "FILE 'p.yaml': fields with their values are expected"));
  }
  EXPECT_THAT(ReadMessageFile("FILE", "none", profile),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("FILE"), HasSubstr("'none'"),
                             HasSubstr("an evenpack.v1.CostProfile as JSON"))));
  ScratchDirectory directory;
  std::ofstream(directory.File("p.json")) << R"({"name": "b"})";
  ASSERT_THAT(ReadMessageFile("FILE", directory.File("p.json"), profile), IsOk());
  EXPECT_EQ(profile.name(), "b");
}

}  // namespace
}  // namespace evenpack
