#include "client/cli/online/document_source.h"

#include <gmock/gmock.h>

#include <fstream>
#include <string>
#include <vector>

#include "client/cli/document_stream.h"
#include "tests/client/cli/index_bytes.h"
#include "tests/client/cli/online/fake_python.h"
#include "tests/testing/scratch_path.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::ScratchFile;
using ::evenpack::testing::ScratchPath;
using ::evenpack::testing::StatusIs;
using ::evenpack::testing::WritingPython;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string File(const std::string& content) {
  return ScratchFile("document_source_test.txt", content);
}

std::vector<uint32_t> Lengths(const FlagValues& values) {
  Interrupt interrupt;
  const auto source = OpenDocumentSource(values, interrupt);
  EXPECT_THAT(source, IsOk());
  std::vector<uint32_t> lengths;
  while (source.ok()) {
    EXPECT_TRUE((*source)->IsReady());
    const auto document = (*source)->Next();
    EXPECT_THAT(document, IsOk());
    if (!document.ok() || !document->has_value()) break;
    lengths.push_back((*document)->length);
  }
  return lengths;
}

TEST(DocumentSourceTest, ReadsEitherKindOfFile) {
  EXPECT_THAT(Lengths({{"--lengths", File("5\n7\n")}}), ElementsAre(5, 7));
  EXPECT_THAT(Lengths({{"--lengths", File("")}}), ElementsAre());
  EXPECT_THAT(Lengths({{"--jsonl", File("{\"length\": 5}\n{\"text\": \"abc\"}\n")}}),
              ElementsAre(5, 3));
  EXPECT_THAT(Lengths({{"--jsonl", File("{\"n\": 5}\n")}, {"--length-field", "n"}}),
              ElementsAre(5));
  EXPECT_THAT(Lengths({{"--jsonl", File("{\"b\": \"xy\"}\n")}, {"--text-field", "b"}}),
              ElementsAre(2));
}

TEST(DocumentSourceTest, CountsTokensHereOrInPython) {
  EXPECT_THAT(
      Lengths({{"--jsonl", File("{\"t\": [5, 6]}\n")}, {"--tokens-field", "t"}}),
      ElementsAre(2));
  EXPECT_THAT(Lengths({{"--jsonl", File("{\"text\": \"abc\"}\n{\"text\": \"\"}\n")},
                       {"--tokenizer", "bytes"},
                       {"--end-of-document", "256"}}),
              ElementsAre(4, 1));
  const std::string python = WritingPython(
      "{\"skipped\": 0}\n{\"length\": 7, \"end\": 5}\n{\"documents\": 1}\n");
  Interrupt interrupt;
  const auto source = OpenDocumentSource(
      {{"--jsonl", File("")}, {"--tokenizer", "tiktoken:gpt2"}, {"--python", python}},
      interrupt);
  ASSERT_THAT(source, IsOk());
  const auto document = (*source)->Next();
  ASSERT_THAT(document, IsOk());
  EXPECT_EQ((*document)->length, 7U);
}

TEST(DocumentSourceTest, PassesOverWhatTakesLongToCountAndNothingElse) {
  Interrupt interrupt;
  for (const auto& [tokenizer, skips] : std::vector<std::pair<std::string, bool>>{
           {"bytes", false}, {"tiktoken:gpt2", true}, {"tokenizers:a.json", true}}) {
    const auto source = OpenDocumentSource(
        {{"--jsonl", File("")}, {"--tokenizer", tokenizer}}, interrupt);
    ASSERT_THAT(source, IsOk());
    EXPECT_EQ((*source)->skips(), skips) << tokenizer;
    if (skips) continue;
    EXPECT_THAT((*source)->Skip(1), StatusIs(absl::StatusCode::kUnimplemented,
                                             HasSubstr("not passed over")));
  }
}

TEST(DocumentSourceTest, RepeatsAsPackDoes) {
  const std::vector<uint32_t> file = {1, 2, 3, 4, 5, 6, 7, 8};
  DocumentStream stream(file, 3, 42);
  std::vector<uint32_t> expected;
  while (!stream.AtEnd()) expected.push_back(stream.Next());
  EXPECT_EQ(Lengths({{"--lengths", File("1\n2\n3\n4\n5\n6\n7\n8\n")},
                     {"--repeat", "3"},
                     {"--seed", "42"}}),
            expected);
}

TEST(DocumentSourceTest, ReadsAnIndexAndSaysWhatIsLeftOut) {
  const std::string prefix = ScratchPath("document_source_test");
  std::ofstream(prefix + ".idx", std::ios::binary)
      << ::evenpack::testing::IndexContent::Of({{5}, {0}, {3, 4}}).Bytes();
  EXPECT_THAT(Lengths({{"--idx", prefix}}), ElementsAre(5, 7));
  EXPECT_EQ(Lengths({{"--idx", prefix}, {"--repeat", "2"}}).size(), 4);
  Interrupt interrupt;
  const auto source = OpenDocumentSource({{"--idx", prefix}}, interrupt);
  ASSERT_THAT(source, IsOk());
  EXPECT_THAT((*source)->note(), HasSubstr("without a token, left out: 1\n"));
}

TEST(DocumentSourceTest, NamesTheLineOfAnError) {
  Interrupt interrupt;
  const auto source = OpenDocumentSource({{"--lengths", File("5\nx\n")}}, interrupt);
  ASSERT_THAT(source, IsOk());
  EXPECT_THAT((*source)->Next(), IsOk());
  EXPECT_THAT((*source)->Next(), StatusIs(kInvalid, HasSubstr("line 2: 'x'")));
}

TEST(DocumentSourceTest, RefusesFlagsThatDoNotGoTogether) {
  const std::vector<std::pair<FlagValues, std::string>> cases = {
      {{},
       "--lengths is missing; accepted: one of --lengths FILE, --idx PREFIX and "
       "--jsonl FILE"},
      {{{"--idx", "a"}, {"--jsonl", "b"}}, "--idx together with --jsonl"},
      {{{"--idx", "a"}, {"--text-field", "t"}},
       "--text-field together with --idx is not accepted"},
      {{{"--lengths", "a"}, {"--jsonl", "b"}}, "--lengths together with --jsonl"},
      {{{"--lengths", "a"}, {"--text-field", "t"}},
       "--text-field together with --lengths is not accepted"},
      {{{"--idx", "a"}, {"--tokenizer", "bytes"}}, "--tokenizer together with --idx"},
      {{{"--lengths", "a"}, {"--tokens-field", "t"}},
       "--tokens-field together with --lengths"},
      {{{"--jsonl", "a"}, {"--repeat", "2"}}, "--repeat together with --jsonl"},
      {{{"--jsonl", "a"}, {"--seed", "2"}}, "--seed together with --jsonl"},
      {{{"--jsonl", "a"}, {"--tokenizer", "x"}}, "--tokenizer: 'x'"},
      {{{"--jsonl", "a"}, {"--text-field", "t"}, {"--length-field", "l"}},
       "--length-field together with --text-field"},
      {{{"--jsonl", "a"}, {"--id-field", ""}}, "--id-field: ''"},
      {{{"--jsonl", "/no/such/file"}}, "--jsonl: '/no/such/file' (No such file"},
      {{{"--lengths", "a"}, {"--repeat", "0"}}, "--repeat: '0'"},
  };
  Interrupt interrupt;
  for (const auto& [values, message] : cases) {
    EXPECT_THAT(OpenDocumentSource(values, interrupt),
                StatusIs(kInvalid, HasSubstr(message)));
  }
}

}  // namespace
}  // namespace evenpack
