#include "client/cli/online/yaml_json.h"

#include <gmock/gmock.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::StatusIs;
using ::testing::HasSubstr;

TEST(YamlJsonTest, TurnsEachKindOfValueIntoItsOwn) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a: 1\nb: -2.5e3\nc: true\nd: null\ne: text",
       R"({"a":1,"b":-2500.0,"c":true,"d":null,"e":"text"})"},
      {"quoted: '1'\ndouble: \"true\"", R"({"quoted":"1","double":"true"})"},
      {"plain: 1_000\nhex: 0x10\nyes: yes",
       R"({"plain":"1_000","hex":"0x10","yes":"yes"})"},
      {"big: 18446744073709551615", R"({"big":18446744073709551615})"},
      {"list:\n- 1\n- {a: b}\n- [2, 3]", R"({"list":[1,{"a":"b"},[2,3]]})"},
      {"x: &anchor {a: 1}\ny: *anchor", R"({"x":{"a":1},"y":{"a":1}})"},
      {"empty:\n# a comment", R"({"empty":null})"},
      {"text: |\n  two\n  lines\n", R"({"text":"two\nlines\n"})"},
      {"", "null"},
  };
  for (const auto& [yaml, json] : cases) {
    const auto converted = YamlToJson(yaml);
    ASSERT_THAT(converted, IsOk()) << yaml;
    EXPECT_EQ(*converted, json);
  }
}

TEST(YamlJsonTest, ErrorsNameTheLine) {
  EXPECT_THAT(YamlToJson("a: 1\nb: [1, 2\nc: 3\n"),
              StatusIs(kInvalid, HasSubstr("line ")));
  EXPECT_THAT(YamlToJson("a: 1\n\tb: 2\n"), StatusIs(kInvalid, HasSubstr("line 2: ")));
  EXPECT_THAT(YamlToJson("a: 1\nb: 2\na: 3\n"),
              StatusIs(kInvalid,
                       "line 3: 'a' again is not accepted; accepted: each field once"));
  EXPECT_THAT(YamlToJson("a: 1\n[b]: 2\n"),
              StatusIs(kInvalid, HasSubstr("line 2: a key that is no text")));
}

TEST(YamlJsonTest, ASecondDocumentIsRefused) {
  EXPECT_THAT(YamlToJson("a: 1\n---\nb: 2\n"),
              StatusIs(kInvalid, "line 2: a second document; accepted: one"));
}

TEST(YamlJsonTest, BoundsWhatAShortTextCanBecome) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 8; ++i) {
    const std::vector<std::string> ten(10, absl::StrCat("*a", i - 1));
    absl::StrAppend(&bomb, "a", i, ": &a", i, " [", absl::StrJoin(ten, ", "), "]\n");
  }
  EXPECT_THAT(YamlToJson(bomb), StatusIs(kInvalid, HasSubstr("at most 400000 values")));
  EXPECT_THAT(YamlToJson(std::string(200, '[') + std::string(200, ']')),
              StatusIs(kInvalid, HasSubstr("at most 100 levels")));
}

}  // namespace
}  // namespace evenpack
