#include "client/cli/online/tokenizer_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/client/cli/online/fake_python.h"
#include "tests/testing/status_matchers.h"

namespace evenpack {
namespace {

using ::evenpack::testing::FakePython;
using ::evenpack::testing::IsOk;
using ::evenpack::testing::kInvalid;
using ::evenpack::testing::StatusIs;
using ::evenpack::testing::WritingPython;
using ::testing::AllOf;
using ::testing::HasSubstr;

class TokenizerProcessTest : public ::testing::Test {
 protected:
  ~TokenizerProcessTest() override { close(input_); }

  absl::StatusOr<std::unique_ptr<TokenizerProcess>> Start(
      const std::string& python, const JsonlFields& fields = {}, uint64_t skip = 0) {
    return TokenizerProcess::Start({python, "tiktoken:a", end_of_document_}, fields,
                                   input_, skip, interrupt_);
  }
  // What its first record is, or why there is none.
  absl::StatusOr<nlohmann::json> First(const std::string& python) {
    process_ = *Start(python);
    return process_->Next();
  }

  const int input_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  Interrupt interrupt_;
  std::optional<std::string> end_of_document_;
  std::unique_ptr<TokenizerProcess> process_;
};

TEST_F(TokenizerProcessTest, TellsTheProgramWhatTheFlagsSay) {
  const std::string python = FakePython(R"(
    for argument; do text="$text$argument,"; done
    echo "{\"said\": \"$text\"}")");
  EXPECT_EQ((*First(python))["said"],
            "-m,evenpack.corpora.jsonl_lengths,--tokenizer=tiktoken:a,--skip=0,");
  JsonlFields fields;
  fields.text = "a b";
  fields.id = "i";
  fields.loss_tokens = "l";
  fields.source = "s";
  end_of_document_ = "-e";
  const auto process = Start(python, fields, 18446744073709551615U);
  ASSERT_THAT(process, IsOk());
  EXPECT_EQ((*(*process)->Next())["said"],
            "-m,evenpack.corpora.jsonl_lengths,--tokenizer=tiktoken:a,"
            "--end-of-document=-e,--text-field=a b,--id-field=i,"
            "--loss-tokens-field=l,--source-field=s,--skip=18446744073709551615,");
}

TEST_F(TokenizerProcessTest, GivesRecordsOneAfterAnother) {
  const auto process = Start(WritingPython("{\"a\": 1}\n{}\n{\"b\": 2}\n"));
  ASSERT_THAT(process, IsOk());
  EXPECT_EQ((*process)->Next()->dump(), R"({"a":1})");
  EXPECT_TRUE((*process)->IsReady());
  EXPECT_EQ((*process)->Next()->dump(), "{}");
  EXPECT_EQ((*process)->Next()->dump(), R"({"b":2})");
}

TEST_F(TokenizerProcessTest, AnErrorOfTheProgramIsItsOwn) {
  EXPECT_THAT(First(WritingPython(R"({"error": "line 3: no text", "code": 3})"
                                  "\n")),
              StatusIs(kInvalid, "line 3: no text"));
  EXPECT_THAT(First(WritingPython(R"({"error": "no network", "code": 9})"
                                  "\n")),
              StatusIs(absl::StatusCode::kFailedPrecondition, "no network"));
  for (const char* const code : {"0", "17", "-1", "18446744073709551615", "\"3\""}) {
    EXPECT_THAT(First(WritingPython(std::string(R"({"error": "odd", "code": )") + code +
                                    "}\n")),
                StatusIs(absl::StatusCode::kUnknown, "odd"));
  }
}

TEST_F(TokenizerProcessTest, AProgramWithoutAWordIsNoPythonWithThePackage) {
  const std::string python = FakePython("echo 'No module named evenpack' >&2; exit 1");
  EXPECT_THAT(First(python),
              StatusIs(kInvalid, AllOf(HasSubstr("--python: '" + python.substr(0, 5)),
                                       HasSubstr("which ended with code 1: No module "
                                                 "named evenpack, is not accepted; "
                                                 "accepted: an interpreter of Python "
                                                 "that has the package evenpack"))));
  EXPECT_THAT(First("true"),
              StatusIs(kInvalid, HasSubstr("--python: 'true', which ended with code 0, "
                                           "is not accepted")));
}

TEST_F(TokenizerProcessTest, AProgramThatIsNotThereIsNamed) {
  EXPECT_THAT(Start("/no/such/python"),
              StatusIs(kInvalid, HasSubstr("--python: '/no/such/python' (No such file "
                                           "or directory) is not accepted")));
}

TEST_F(TokenizerProcessTest, AProgramThatGoesAmidItsRecordsHasFailed) {
  for (const auto& [end, how] : std::vector<std::pair<std::string, std::string>>{
           {"exit 0", "ended with code 0 before it was done"},
           {"echo MemoryError >&2; exit 1",
            "ended with code 1 before it was done: MemoryError"},
           {"kill -KILL $$", "was ended by signal 9 (Killed) before it was done"}}) {
    const auto process = Start(FakePython("echo '{}'; printf '{'; " + end));
    ASSERT_THAT(process, IsOk());
    EXPECT_THAT((*process)->Next(), IsOk());
    EXPECT_THAT((*process)->Next(),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(how)));
  }
}

TEST_F(TokenizerProcessTest, WhatIsNoRecordIsShown) {
  for (const char* const line : {"5", "Hello", "[1]", ""}) {
    EXPECT_THAT(First(WritingPython(std::string(line) + "\n")),
                StatusIs(kInvalid, HasSubstr(std::string(", which writes '") + line +
                                             "' for a record, is not accepted")));
  }
  const std::string endless = FakePython("while :; do printf aaaaaaaaaaaaaaaa; done");
  EXPECT_THAT(First(endless), StatusIs(kInvalid, HasSubstr("which writes 'aaa")));
  EXPECT_THAT(First(WritingPython("{\"a\": 1}\n")), IsOk());
  EXPECT_THAT(process_->Refuse(),
              StatusIs(kInvalid, HasSubstr(R"(which writes '{"a": 1}' for a record)")));
}

TEST_F(TokenizerProcessTest, StopsWaitingWhereItIsInterrupted) {
  const auto process = Start(FakePython("exec sleep 1000"));
  ASSERT_THAT(process, IsOk());
  EXPECT_FALSE((*process)->IsReady());
  interrupt_.Request();
  EXPECT_THAT((*process)->Next(),
              StatusIs(absl::StatusCode::kCancelled, "interrupted"));
}

}  // namespace
}  // namespace evenpack
