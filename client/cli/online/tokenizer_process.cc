#include "client/cli/online/tokenizer_process.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/quoted_value.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr char kModule[] = "evenpack.corpora.jsonl_lengths";
constexpr char kPython[] = "an interpreter of Python that has the package evenpack";
constexpr size_t kBlockOfRecords = 64U << 10U;
// The message of an error is the longest part of any.
constexpr size_t kLongestRecord = 64U << 10U;
constexpr int kLastCode = 16;

std::vector<std::string> CommandOf(const PythonTokenizer& tokenizer,
                                   const JsonlFields& fields, uint64_t skip) {
  std::vector<std::string> command = {tokenizer.python, "-m", kModule};
  const auto add = [&command](const char* flag,
                              const std::optional<std::string>& value) {
    if (value.has_value()) command.push_back(absl::StrCat(flag, "=", *value));
  };
  add("--tokenizer", tokenizer.name);
  add("--end-of-document", tokenizer.end_of_document);
  add("--text-field", fields.text);
  add("--id-field", fields.id);
  add("--loss-tokens-field", fields.loss_tokens);
  add("--source-field", fields.source);
  add("--skip", std::to_string(skip));
  return command;
}

// OK for a record that says nothing of a failure.
absl::Status FailureOf(const nlohmann::json& record) {
  const auto error = record.find("error");
  if (error == record.end() || !error->is_string()) return absl::OkStatus();
  auto code = absl::StatusCode::kUnknown;
  const auto given = record.find("code");
  if (given != record.end() && given->is_number_unsigned() &&
      given->get<uint64_t>() - 1 < kLastCode) {
    code = static_cast<absl::StatusCode>(given->get<int>());
  }
  return {code, error->get<std::string>()};
}

}  // namespace

absl::StatusOr<std::unique_ptr<TokenizerProcess>> TokenizerProcess::Start(
    const PythonTokenizer& tokenizer, const JsonlFields& fields, int input,
    uint64_t skip, const Interrupt& interrupt) {
  absl::StatusOr<std::unique_ptr<ChildProcess>> process =
      ChildProcess::Start(CommandOf(tokenizer, fields, skip), input, interrupt);
  if (absl::IsNotFound(process.status())) {
    return InvalidField("--python",
                        absl::StrCat(QuotedValue(tokenizer.python), " (",
                                     process.status().message(), ")"),
                        kPython);
  }
  if (!process.ok()) return process.status();
  return std::unique_ptr<TokenizerProcess>(
      new TokenizerProcess(tokenizer.python, *std::move(process)));
}

absl::StatusOr<nlohmann::json> TokenizerProcess::Next() {
  if (absl::Status status = ReadLine(); !status.ok()) return status;
  nlohmann::json record =
      nlohmann::json::parse(line_, nullptr, /*allow_exceptions=*/false);
  if (!record.is_object()) return Refuse();
  has_spoken_ = true;
  if (absl::Status failure = FailureOf(record); !failure.ok()) return failure;
  return record;
}

absl::Status TokenizerProcess::Refuse() const {
  return InvalidField("--python",
                      absl::StrCat(QuotedValue(python_), ", which writes ",
                                   QuotedValue(line_), " for a record,"),
                      absl::StrCat(kPython, " of this version"));
}

bool TokenizerProcess::IsReady() const {
  return buffer_.find('\n', start_) != std::string::npos || process_->IsReady();
}

absl::Status TokenizerProcess::ReadLine() {
  size_t scanned = start_;
  while (true) {
    const size_t end = buffer_.find('\n', scanned);
    line_ = std::string_view(buffer_).substr(start_, end - start_);
    if (end != std::string::npos) {
      start_ = end + 1;
      return absl::OkStatus();
    }
    if (line_.size() > kLongestRecord) return Refuse();
    if (absl::Status status = Fill(); !status.ok()) return status;
    scanned = start_;
  }
}

absl::Status TokenizerProcess::Fill() {
  buffer_.erase(0, std::exchange(start_, 0));
  const size_t size = buffer_.size();
  buffer_.resize(size + kBlockOfRecords);
  const absl::StatusOr<size_t> count =
      process_->Read(buffer_.data() + size, kBlockOfRecords);
  buffer_.resize(size + count.value_or(0));
  if (!count.ok()) return count.status();
  return *count == 0 ? Ended() : absl::OkStatus();
}

// Whoever goes before the last record has failed, whatever its exit code.
absl::Status TokenizerProcess::Ended() {
  const absl::StatusOr<ChildProcess::Ending> ending = process_->Wait();
  if (!ending.ok()) return ending.status();
  const std::string how = ending->signal != 0
                              ? absl::StrCat("was ended by signal ", ending->signal,
                                             " (", strsignal(ending->signal), ")")
                              : absl::StrCat("ended with code ", ending->code);
  const std::string words =
      ending->last_words.empty() ? "" : absl::StrCat(": ", ending->last_words);
  if (has_spoken_ || ending->signal != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the tokenizer's process (", python_, " -m ", kModule, ") ", how,
                     " before it was done", words));
  }
  return InvalidField("--python",
                      absl::StrCat(QuotedValue(python_), ", which ", how, words, ","),
                      kPython);
}

}  // namespace evenpack
