#include "client/cli/online/jsonl_source.h"

#include <gmock/gmock.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/testing/scratch_path.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::ScratchFile;
using ::evenpack::testing::StatusIs;
using ::testing::HasSubstr;

uint32_t LengthOf(const std::string& line, const JsonlFields& fields = {}) {
  const auto document = ParseJsonDocument(line, fields);
  EXPECT_THAT(document, IsOk()) << line;
  return document.ok() ? document->length : 0;
}

TEST(ParseJsonDocumentTest, TakesTheLengthOrElseTheBytesOfTheText) {
  EXPECT_EQ(LengthOf(R"({"length": 812, "text": "abc"})"), 812U);
  EXPECT_EQ(LengthOf(R"({"text": "abc"})"), 3U);
  EXPECT_EQ(LengthOf(R"({"length": 2147483647})"), 2147483647U);
}

TEST(ParseJsonDocumentTest, CountsBytesOfUtf8AfterEscapes) {
  EXPECT_EQ(LengthOf(R"({"text": "h\u00e9\n"})"), 4U);
  EXPECT_EQ(LengthOf("{\"text\": \"\xe2\x82\xac\"}"), 3U);
  EXPECT_EQ(LengthOf(R"({"text": "\ud83d\ude00"})"), 4U);
}

TEST(ParseJsonDocumentTest, CountsTokenIds) {
  EXPECT_EQ(LengthOf(R"({"tokens": [5, 0, 2147483647]})"), 3U);
  EXPECT_EQ(LengthOf(R"({"tokens": [5], "text": "abc"})"), 3U);
  JsonlFields fields;
  fields.tokens = "ids";
  EXPECT_EQ(LengthOf(R"({"length": 9, "text": "a", "ids": [ 1,2,-0 ]})", fields), 3U);
  std::string many = "{\"ids\": [0";
  for (int i = 1; i < 100'000; ++i) many += "," + std::to_string(i);
  EXPECT_EQ(LengthOf(many + "]}", fields), 100'000U);
}

TEST(ParseJsonDocumentTest, AnEndOfTheDocumentIsOneTokenMoreOfATextAlone) {
  JsonlFields fields;
  fields.end_of_document = true;
  EXPECT_EQ(LengthOf(R"({"text": "abc"})", fields), 4U);
  EXPECT_EQ(LengthOf(R"({"text": ""})", fields), 1U);
  EXPECT_EQ(LengthOf(R"({"length": 5})", fields), 5U);
  EXPECT_EQ(LengthOf(R"({"tokens": [1, 2]})", fields), 2U);
  EXPECT_THAT(ParseJsonDocument(R"({"text": 5})", fields),
              StatusIs(kInvalid, HasSubstr("accepted: a text")));
}

TEST(ParseJsonDocumentTest, TakesTheFieldsThatAreNamed) {
  JsonlFields fields;
  fields.text = "body";
  EXPECT_EQ(LengthOf(R"({"length": 9, "text": "a", "body": "ab"})", fields), 2U);
  fields = {};
  fields.length = "tokens";
  fields.id = "key";
  fields.loss_tokens = "loss";
  fields.source = "from";
  const auto document = ParseJsonDocument(
      R"({"tokens": 5, "key": 18446744073709551615, "loss": 0, "from": 4294967295})",
      fields);
  ASSERT_THAT(document, IsOk());
  EXPECT_EQ(document->length, 5U);
  EXPECT_EQ(document->id, 18446744073709551615U);
  EXPECT_EQ(document->loss_tokens, 0U);
  EXPECT_EQ(document->source, 4294967295U);
}

TEST(ParseJsonDocumentTest, TakesAnIdThatIsAWholeNumberAndLeavesAnother) {
  EXPECT_EQ(ParseJsonDocument(R"({"length": 1, "id": 7})", {})->id, 7U);
  EXPECT_EQ(ParseJsonDocument(R"({"length": 1, "id": "7"})", {})->id, std::nullopt);
  EXPECT_EQ(ParseJsonDocument(R"({"length": 1})", {})->id, std::nullopt);
  EXPECT_EQ(ParseJsonDocument(R"({"length": 1})", {})->loss_tokens, std::nullopt);
}

TEST(ParseJsonDocumentTest, SaysWhatIsWrong) {
  JsonlFields named;
  named.length = "n";
  named.id = "key";
  JsonlFields text;
  text.text = "body";
  text.loss_tokens = "loss";
  JsonlFields tokens;
  tokens.tokens = "ids";
  tokens.loss_tokens = "loss";
  const std::vector<std::tuple<std::string, JsonlFields, std::string>> cases = {
      {"12", {}, "'12' is not accepted; accepted: a JSON object"},
      {R"({"length": 1)", {}, "'{\"length\": 1' is not accepted"},
      {"{}",
       {},
       "fields 'length', 'text' and 'tokens' are missing; --length-field, --text-field "
       "or --tokens-field names another"},
      {R"({"length": 0})",
       {},
       "field 'length': '0' is not accepted; accepted: a whole number from 1 to "
       "2147483647"},
      {R"({"length": -1})", {}, "field 'length': '-1'"},
      {R"({"length": 1.5})", {}, "field 'length': '1.5'"},
      {R"({"length": "5"})", {}, "field 'length': '\"5\"'"},
      {R"({"length": 2147483648})", {}, "field 'length': '2147483648'"},
      {R"({"text": ""})", {}, "field 'text': '' is not accepted; accepted: a text"},
      {R"({"text": 5})", {}, "field 'text': number is not accepted"},
      {R"({"length": 5})", named, "field 'n' is missing"},
      {R"({"n": 5})", named, "field 'key' is missing"},
      {R"({"text": "a"})", tokens, "field 'ids' is missing"},
      {R"({"ids": []})", tokens,
       "field 'ids': [] is not accepted; accepted: a list of token ids that isn't "
       "empty"},
      {R"({"ids": "5"})", tokens, "field 'ids': string is not accepted"},
      {R"({"length": {"a": 1}})", {}, "field 'length': object is not accepted"},
      {R"({"ids": [1, [2]]})", tokens, "field 'ids': array is not accepted"},
      {absl::StrCat(R"({"ids": )", std::string(2'000'000, '['),
                    std::string(2'000'000, ']'), "}"),
       tokens, "field 'ids': array is not accepted"},
      {R"({"ids": [1, -1]})", tokens,
       "field 'ids': '-1' is not accepted; accepted: token ids from 0 to 2147483647"},
      {R"({"ids": [1, 2.0]})", tokens, "field 'ids': '2.0' is not accepted"},
      {R"({"ids": [true]})", tokens, "field 'ids': 'true' is not accepted"},
      {R"({"ids": [[1]]})", tokens, "field 'ids': array is not accepted"},
      {R"({"ids": [2147483648]})", tokens, "field 'ids': '2147483648'"},
      {R"({"ids": [99999999999999999999]})", tokens, "field 'ids': '1e+20'"},
      {R"({"ids": [1, 2], "loss": 3})", tokens, "accepted: a whole number from 0 to 2"},
      {R"({"n": 5, "key": "a"})", named, "field 'key': '\"a\"' is not accepted"},
      {R"({"length": 5})", text, "field 'body' is missing"},
      {R"({"body": "abc", "loss": 4})", text,
       "field 'loss': '4' is not accepted; accepted: a whole number from 0 to 3"},
  };
  for (const auto& [line, fields, message] : cases) {
    EXPECT_THAT(ParseJsonDocument(line, fields),
                StatusIs(kInvalid, HasSubstr(message)));
  }
}

TEST(JsonlSourceTest, NamesTheLineOfAnError) {
  const std::string path = ScratchFile(
      "jsonl_source_test.jsonl", "{\"length\": 5}\n{\"length\": 0}\n{\"length\": 6}\n");
  Interrupt interrupt;
  const auto source = OpenJsonlSource(path, {}, interrupt);
  ASSERT_THAT(source, IsOk());
  const auto first = (*source)->Next();
  ASSERT_THAT(first, IsOk());
  EXPECT_EQ((*first)->length, 5U);
  EXPECT_EQ((*source)->progress().done, 42U);
  EXPECT_EQ((*source)->progress().total, 42U);
  EXPECT_THAT((*source)->Next(),
              StatusIs(kInvalid, HasSubstr("line 2: field 'length': '0'")));
}

}  // namespace
}  // namespace evenpack
