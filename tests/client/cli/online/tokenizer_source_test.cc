#include "client/cli/online/tokenizer_source.h"

#include <gmock/gmock.h>

#include <fstream>
#include <memory>
#include <string>

#include "tests/client/cli/online/fake_python.h"
#include "tests/testing/scratch_path.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::FakePython;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::ScratchPath;
using ::evenpack::testing::StatusIs;
using ::evenpack::testing::WritingPython;
using ::testing::HasSubstr;

constexpr char kBegun[] = "{\"skipped\": 0}\n";

class TokenizerSourceTest : public ::testing::Test {
 protected:
  TokenizerSourceTest() { std::ofstream(path_) << "0123456789"; }

  std::unique_ptr<DocumentSource> Open(const std::string& python) {
    auto source =
        OpenTokenizerSource(path_, {python, "tiktoken:a", {}}, {}, interrupt_);
    EXPECT_THAT(source, IsOk());
    return *std::move(source);
  }
  std::unique_ptr<DocumentSource> Writing(const std::string& records) {
    return Open(WritingPython(records));
  }

  const std::string path_ = ScratchPath("tokenizer_source_test.jsonl");
  Interrupt interrupt_;
};

TEST_F(TokenizerSourceTest, GivesDocumentsWithWhatIsKnownOfThem) {
  const auto source = Writing(std::string(kBegun) + R"({"length": 5, "end": 4}
{"length": 2147483647, "end": 10, "id": 18446744073709551615, "loss_tokens": 0, "source": 4294967295}
{"documents": 2}
)");
  EXPECT_TRUE(source->skips());
  EXPECT_EQ(source->progress().done, 0U);
  EXPECT_EQ(source->progress().total, 10U);
  auto document = source->Next();
  ASSERT_THAT(document, IsOk());
  EXPECT_EQ((*document)->length, 5U);
  EXPECT_EQ((*document)->id, std::nullopt);
  EXPECT_EQ((*document)->loss_tokens, std::nullopt);
  EXPECT_EQ((*document)->source, std::nullopt);
  EXPECT_EQ(source->progress().done, 4U);
  EXPECT_TRUE(source->IsReady());
  document = source->Next();
  ASSERT_THAT(document, IsOk());
  EXPECT_EQ((*document)->length, 2147483647U);
  EXPECT_EQ((*document)->id, 18446744073709551615U);
  EXPECT_EQ((*document)->loss_tokens, 0U);
  EXPECT_EQ((*document)->source, 4294967295U);
  EXPECT_EQ(source->progress().done, 10U);
  document = source->Next();
  ASSERT_THAT(document, IsOk());
  EXPECT_EQ(*document, std::nullopt);
}

TEST_F(TokenizerSourceTest, TheProgramReadsTheFile) {
  const auto source = Open(FakePython(R"(
    echo '{"skipped": 0}'; echo "{\"length\": $(wc -c), \"end\": 10}")"));
  const auto document = source->Next();
  ASSERT_THAT(document, IsOk());
  EXPECT_EQ((*document)->length, 10U);
}

TEST_F(TokenizerSourceTest, SkipsAsManyAsThereAre) {
  EXPECT_EQ(*Writing("{\"skipped\": 7}\n")->Skip(7), 7U);
  const auto source = Writing("{\"skipped\": 3}\n{\"documents\": 0}\n");
  EXPECT_EQ(*source->Skip(7), 3U);
  EXPECT_EQ(*source->Next(), std::nullopt);
  const auto other = Writing("{\"skipped\": 3}\n{\"length\": 5, \"end\": 4}\n");
  EXPECT_EQ(*other->Skip(7), 3U);
  EXPECT_THAT(other->Next(), StatusIs(kInvalid, HasSubstr("for a record")));
}

TEST_F(TokenizerSourceTest, RefusesRecordsThatAreNotAsTheyShouldBe) {
  for (const char* const record :
       {"{}", R"({"length": 5})", R"({"length": 0, "end": 5})",
        R"({"length": 2147483648, "end": 5})", R"({"length": "5", "end": 5})",
        R"({"length": 5, "end": -1})", R"({"length": 5, "end": 5, "id": 1.5})",
        R"({"length": 5, "end": 5, "loss_tokens": 6})",
        R"({"length": 5, "end": 5, "source": 4294967296})", R"({"documents": 1})",
        R"({"documents": "0"})"}) {
    EXPECT_THAT(Writing(std::string(kBegun) + record + "\n")->Next(),
                StatusIs(kInvalid, HasSubstr(" for a record, is not accepted")))
        << record;
  }
  for (const char* const record : {"{}", R"({"skipped": 8})", R"({"skipped": "a"})"}) {
    EXPECT_THAT(Writing(std::string(record) + "\n")->Skip(7),
                StatusIs(kInvalid, HasSubstr(" for a record, is not accepted")))
        << record;
  }
}

TEST_F(TokenizerSourceTest, AFileThatEndsWithoutAWordHasNotEnded) {
  const auto source = Writing(std::string(kBegun) + "{\"length\": 5, \"end\": 4}\n");
  EXPECT_THAT(source->Next(), IsOk());
  EXPECT_THAT(source->Next(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                       HasSubstr("before it was done")));
}

TEST_F(TokenizerSourceTest, PassesTheProgramsErrorOn) {
  const auto source =
      Writing(std::string(kBegun) + "{\"error\": \"line 1: no text\", \"code\": 3}\n");
  EXPECT_THAT(source->Next(), StatusIs(kInvalid, "line 1: no text"));
  EXPECT_THAT(Open("/no/such/python")->Next(),
              StatusIs(kInvalid, HasSubstr("--python: '/no/such/python'")));
}

TEST_F(TokenizerSourceTest, RefusesWhatIsNoFile) {
  for (const auto& [path, why] : std::vector<std::pair<std::string, std::string>>{
           {"/no/such/file", "No such file or directory"},
           {::testing::TempDir(), "Is a directory"}}) {
    EXPECT_THAT(
        OpenTokenizerSource(path, {"python3", "tiktoken:a", {}}, {}, interrupt_),
        StatusIs(kInvalid, HasSubstr("' (" + why + ") is not accepted")));
  }
}

}  // namespace
}  // namespace evenpack
