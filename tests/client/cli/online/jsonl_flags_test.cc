#include "client/cli/online/jsonl_flags.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::StatusIs;
using ::testing::HasSubstr;

absl::StatusOr<JsonlFlags> Read(FlagValues values) {
  values.emplace("--jsonl", "a.jsonl");
  return ReadJsonlFlags(values);
}

TEST(JsonlFlagsTest, NothingIsNamedUnlessItIsGiven) {
  const auto flags = Read({});
  ASSERT_THAT(flags, IsOk());
  EXPECT_EQ(flags->path, "a.jsonl");
  EXPECT_EQ(flags->tokenizer, std::nullopt);
  for (const auto& field :
       {flags->fields.length, flags->fields.text, flags->fields.tokens,
        flags->fields.id, flags->fields.loss_tokens, flags->fields.source}) {
    EXPECT_EQ(field, std::nullopt);
  }
  EXPECT_FALSE(flags->fields.end_of_document);
}

TEST(JsonlFlagsTest, TakesTheNamesOfFields) {
  EXPECT_EQ(Read({{"--length-field", "n"}})->fields.length, "n");
  EXPECT_EQ(Read({{"--text-field", "n"}})->fields.text, "n");
  EXPECT_EQ(Read({{"--tokens-field", "n"}})->fields.tokens, "n");
  const auto flags = Read(
      {{"--id-field", "i"}, {"--loss-tokens-field", "l"}, {"--source-field", "s"}});
  ASSERT_THAT(flags, IsOk());
  EXPECT_EQ(flags->fields.id, "i");
  EXPECT_EQ(flags->fields.loss_tokens, "l");
  EXPECT_EQ(flags->fields.source, "s");
}

TEST(JsonlFlagsTest, ATokenizerReadsTexts) {
  auto flags = Read({{"--tokenizer", "bytes"}});
  ASSERT_THAT(flags, IsOk());
  EXPECT_EQ(flags->fields.text, "text");
  EXPECT_FALSE(flags->fields.end_of_document);
  EXPECT_EQ(flags->tokenizer, std::nullopt);
  flags = Read({{"--tokenizer", "bytes"},
                {"--text-field", "b"},
                {"--end-of-document", "2147483647"}});
  ASSERT_THAT(flags, IsOk());
  EXPECT_EQ(flags->fields.text, "b");
  EXPECT_TRUE(flags->fields.end_of_document);
}

TEST(JsonlFlagsTest, ATokenizerOfPythonHasAnInterpreter) {
  auto flags = Read({{"--tokenizer", "tiktoken:gpt2"}});
  ASSERT_THAT(flags, IsOk());
  ASSERT_TRUE(flags->tokenizer.has_value());
  EXPECT_EQ(flags->tokenizer->name, "tiktoken:gpt2");
  EXPECT_EQ(flags->tokenizer->python, "python3");
  EXPECT_EQ(flags->tokenizer->end_of_document, std::nullopt);
  EXPECT_EQ(flags->fields.text, "text");
  flags = Read({{"--tokenizer", "tokenizers:a/b.json"},
                {"--text-field", "b"},
                {"--python", "/opt/bin/python"},
                {"--end-of-document", "</s>"}});
  ASSERT_THAT(flags, IsOk());
  ASSERT_TRUE(flags->tokenizer.has_value());
  EXPECT_EQ(flags->tokenizer->name, "tokenizers:a/b.json");
  EXPECT_EQ(flags->tokenizer->python, "/opt/bin/python");
  EXPECT_EQ(flags->tokenizer->end_of_document, "</s>");
  EXPECT_EQ(flags->fields.text, "b");
  EXPECT_FALSE(flags->fields.end_of_document);
}

TEST(JsonlFlagsTest, SaysWhatDoesNotGoTogether) {
  const std::pair<std::string, std::string> bytes = {"--tokenizer", "bytes"};
  const std::pair<std::string, std::string> python = {"--tokenizer", "tiktoken:gpt2"};
  const std::vector<std::pair<FlagValues, std::string>> cases = {
      {{{"--length-field", "a"}, {"--text-field", "b"}},
       "--length-field together with --text-field is not accepted; accepted: one of "
       "the two"},
      {{{"--text-field", "a"}, {"--tokens-field", "b"}},
       "--text-field together with --tokens-field"},
      {{bytes, {"--length-field", "a"}},
       "--length-field together with --tokenizer is not accepted; it has no effect "
       "there"},
      {{python, {"--tokens-field", "a"}}, "--tokens-field together with --tokenizer"},
      {{{"--end-of-document", "5"}},
       "--end-of-document without --tokenizer is not accepted"},
      {{{"--python", "p"}}, "--python without --tokenizer is not accepted"},
      {{bytes, {"--python", "p"}}, "--python together with --tokenizer bytes"},
      {{bytes, {"--end-of-document", "</s>"}}, "--end-of-document: '</s>'"},
      {{bytes, {"--end-of-document", "2147483648"}}, "0 to 2147483647"},
      {{python, {"--end-of-document", ""}},
       "--end-of-document: '' is not accepted; accepted: the id or the name of a "
       "token"},
      {{python, {"--python", ""}}, "--python: ''"},
      {{bytes, {"--text-field", ""}}, "--text-field: ''"},
  };
  for (const auto& [values, message] : cases) {
    EXPECT_THAT(Read(values), StatusIs(kInvalid, HasSubstr(message)));
  }
  EXPECT_THAT(ReadJsonlFlags({}), StatusIs(kInvalid, HasSubstr("--jsonl is missing")));
}

TEST(JsonlFlagsTest, SaysWhichTokenizersThereAre) {
  for (const char* const name :
       {"", "byte", "tokenizers:", "tiktoken:", "tokenizer.json", "tiktoken"}) {
    EXPECT_THAT(Read({{"--tokenizer", name}}),
                StatusIs(kInvalid, HasSubstr(std::string("--tokenizer: '") + name +
                                             "' is not accepted; accepted: bytes, "
                                             "tokenizers:FILE.json or "
                                             "tiktoken:ENCODING")));
  }
}

TEST(JsonlFlagsTest, ListsWhatNeedsAFile) {
  for (const char* const name : JsonlFlagNames()) {
    EXPECT_TRUE(std::string(name).starts_with("--")) << name;
  }
  EXPECT_THAT(JsonlFlagNames(), ::testing::SizeIs(9));
}

}  // namespace
}  // namespace evenpack
