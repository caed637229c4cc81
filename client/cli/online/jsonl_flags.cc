#include "client/cli/online/jsonl_flags.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "client/cli/quoted_value.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr char kTokenizers[] = "bytes, tokenizers:FILE.json or tiktoken:ENCODING";
constexpr char kNoEffect[] = "it has no effect there";
constexpr std::array<std::string_view, 2> kLibraries = {"tokenizers:", "tiktoken:"};
constexpr std::array<const char*, 9> kNames = {
    "--length-field", "--text-field",   "--tokens-field",
    "--id-field",     "--source-field", "--loss-tokens-field",
    "--tokenizer",    "--python",       "--end-of-document"};

absl::Status NotTogether(const char* one, const char* two, const char* why) {
  return absl::InvalidArgumentError(
      absl::StrCat(one, " together with ", two, " is not accepted; ", why));
}

// One field says how long a document is.
absl::Status CheckFields(const FlagValues& values) {
  const char* given = nullptr;
  for (const char* const flag : {"--length-field", "--text-field", "--tokens-field"}) {
    if (!IsGiven(values, flag)) continue;
    if (given != nullptr) return NotTogether(given, flag, "accepted: one of the two");
    given = flag;
  }
  return absl::OkStatus();
}

absl::Status RefuseTokenizerFlags(const FlagValues& values) {
  for (const char* const flag : {"--end-of-document", "--python"}) {
    if (!IsGiven(values, flag)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(flag, " without --tokenizer is not accepted; ", kNoEffect));
  }
  return absl::OkStatus();
}

bool IsOfPython(std::string_view tokenizer) {
  return std::ranges::any_of(kLibraries, [tokenizer](std::string_view library) {
    return tokenizer.starts_with(library) && tokenizer != library;
  });
}

absl::Status ReadByteTokenizer(const FlagValues& values, JsonlFlags& flags) {
  if (IsGiven(values, "--python")) {
    return NotTogether("--python", "--tokenizer bytes", kNoEffect);
  }
  flags.fields.end_of_document = IsGiven(values, "--end-of-document");
  if (!flags.fields.end_of_document) return absl::OkStatus();
  // Which token it is changes no length, but is the same flag with every tokenizer.
  FlagReader reader(values);
  reader.Integer("--end-of-document", {0, kMaxDocumentLength});
  return reader.status();
}

absl::Status ReadTokenizer(const FlagValues& values, JsonlFlags& flags) {
  if (!IsGiven(values, "--tokenizer")) return RefuseTokenizerFlags(values);
  for (const char* const flag : {"--length-field", "--tokens-field"}) {
    if (IsGiven(values, flag)) return NotTogether(flag, "--tokenizer", kNoEffect);
  }
  FlagReader reader(values);
  PythonTokenizer tokenizer;
  tokenizer.name = reader.Text("--tokenizer", kTokenizers);
  if (!reader.status().ok()) return reader.status();
  if (!flags.fields.text.has_value()) flags.fields.text = "text";
  if (tokenizer.name == "bytes") return ReadByteTokenizer(values, flags);
  if (!IsOfPython(tokenizer.name)) {
    return InvalidField("--tokenizer", QuotedValue(tokenizer.name), kTokenizers);
  }
  tokenizer.python = reader.Text("--python", "an interpreter of Python", "python3");
  if (IsGiven(values, "--end-of-document")) {
    tokenizer.end_of_document =
        reader.Text("--end-of-document", "the id or the name of a token");
  }
  flags.tokenizer = tokenizer;
  return reader.status();
}

}  // namespace

absl::StatusOr<JsonlFlags> ReadJsonlFlags(const FlagValues& values) {
  FlagReader reader(values);
  JsonlFlags flags;
  flags.path = reader.Text("--jsonl", "a file with one JSON object a line");
  const auto read = [&values, &reader](const char* flag) -> std::optional<std::string> {
    if (!IsGiven(values, flag)) return std::nullopt;
    return reader.Text(flag, "the name of a field");
  };
  flags.fields.length = read("--length-field");
  flags.fields.text = read("--text-field");
  flags.fields.tokens = read("--tokens-field");
  flags.fields.id = read("--id-field");
  flags.fields.loss_tokens = read("--loss-tokens-field");
  flags.fields.source = read("--source-field");
  if (!reader.status().ok()) return reader.status();
  if (absl::Status status = CheckFields(values); !status.ok()) return status;
  if (absl::Status status = ReadTokenizer(values, flags); !status.ok()) return status;
  return flags;
}

std::span<const char* const> JsonlFlagNames() { return kNames; }

}  // namespace evenpack
