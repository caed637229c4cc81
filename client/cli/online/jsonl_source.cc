#include "client/cli/online/jsonl_source.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/input_file.h"
#include "client/cli/line_reader.h"
#include "client/cli/quoted_value.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

constexpr size_t kLongestLine = 256U << 20U;
constexpr char kObject[] = "a JSON object";

absl::Status Missing(const std::string& field) {
  return absl::InvalidArgumentError(
      absl::StrCat("field ", QuotedValue(field), " is missing"));
}

// Of a list or an object its kind: it may be of any size and depth.
std::string Quoted(const nlohmann::json& value) {
  if (value.is_structured()) return value.type_name();
  return QuotedValue(
      value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

absl::StatusOr<uint64_t> WholeNumber(const std::string& field,
                                     const nlohmann::json& value, uint64_t least,
                                     uint64_t most) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (number >= least && number <= most) return number;
  }
  return InvalidField(absl::StrCat("field ", QuotedValue(field)), Quoted(value),
                      absl::StrCat("a whole number from ", least, " to ", most));
}

// None where `name` is none.
absl::StatusOr<std::optional<uint64_t>> NamedNumber(
    const nlohmann::json& object, const std::optional<std::string>& name,
    uint64_t most) {
  if (!name.has_value()) return std::nullopt;
  const auto found = object.find(*name);
  if (found == object.end()) return Missing(*name);
  const absl::StatusOr<uint64_t> number = WholeNumber(*name, *found, 0, most);
  if (!number.ok()) return number.status();
  return *number;
}

absl::StatusOr<uint64_t> BytesOf(const std::string& field, const nlohmann::json& value,
                                 bool end_of_document) {
  const auto* const text = value.get_ptr<const std::string*>();
  if (text == nullptr || (text->empty() && !end_of_document)) {
    return InvalidField(absl::StrCat("field ", QuotedValue(field)),
                        text == nullptr ? value.type_name() : "''",
                        end_of_document ? "a text" : "a text that isn't empty");
  }
  return text->size() + (end_of_document ? 1 : 0);
}

bool IsTokenId(const nlohmann::json& value) {
  if (value.is_number_unsigned()) return value.get<uint64_t>() <= kMaxDocumentLength;
  // One with a sign is none but for -0.
  return value.is_number_integer() && value.get<int64_t>() == 0;
}

absl::StatusOr<uint64_t> CountTokenIds(const std::string& field,
                                       const nlohmann::json& value) {
  if (!value.is_array() || value.empty()) {
    return InvalidField(absl::StrCat("field ", QuotedValue(field)),
                        value.is_array() ? "[]" : value.type_name(),
                        "a list of token ids that isn't empty");
  }
  for (const nlohmann::json& token : value) {
    if (IsTokenId(token)) continue;
    return InvalidField(absl::StrCat("field ", QuotedValue(field)), Quoted(token),
                        absl::StrCat("token ids from 0 to ", kMaxDocumentLength));
  }
  return value.size();
}

// The field that is named, or is looked for without a name; null where it isn't there.
const nlohmann::json* FindContent(const nlohmann::json& object,
                                  const std::optional<std::string>& name, bool guess,
                                  const char* usual) {
  if (!guess && !name.has_value()) return nullptr;
  const auto found = object.find(guess ? usual : *name);
  return found == object.end() ? nullptr : &*found;
}

absl::StatusOr<uint64_t> LengthOf(const nlohmann::json& object,
                                  const JsonlFields& fields) {
  const auto& [length, text, tokens] =
      std::tie(fields.length, fields.text, fields.tokens);
  const bool guess = !length.has_value() && !text.has_value() && !tokens.has_value();
  if (const auto* const value = FindContent(object, length, guess, "length")) {
    return WholeNumber(length.value_or("length"), *value, 1, kMaxDocumentLength);
  }
  if (const auto* const value = FindContent(object, text, guess, "text")) {
    return BytesOf(text.value_or("text"), *value, fields.end_of_document);
  }
  if (const auto* const value = FindContent(object, tokens, guess, "tokens")) {
    return CountTokenIds(tokens.value_or("tokens"), *value);
  }
  if (!guess) return Missing(length.value_or(text.value_or(tokens.value_or(""))));
  return absl::InvalidArgumentError(
      "fields 'length', 'text' and 'tokens' are missing; --length-field, --text-field "
      "or --tokens-field names another");
}

absl::StatusOr<std::optional<uint64_t>> IdOf(const nlohmann::json& object,
                                             const JsonlFields& fields) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  if (fields.id.has_value()) return NamedNumber(object, fields.id, kMost);
  const auto found = object.find("id");
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<uint64_t>();
}

std::optional<uint32_t> Narrow(const std::optional<uint64_t>& number) {
  if (!number.has_value()) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

class JsonlSource : public DocumentSource {
 public:
  JsonlSource(LineReader lines, JsonlFields fields)
      : lines_(std::move(lines)), fields_(std::move(fields)) {}

  absl::StatusOr<std::optional<SourceDocument>> Next() override {
    const auto line = lines_.Next();
    if (!line.ok()) return line.status();
    if (!line->has_value()) return std::nullopt;
    absl::StatusOr<SourceDocument> document = ParseJsonDocument(**line, fields_);
    if (!document.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(lines_.LineName(), ": ", document.status().message()));
    }
    return *document;
  }
  bool IsReady() const override { return lines_.IsReady(); }
  Progress progress() const override {
    return {lines_.file().position(), lines_.file().size()};
  }

 private:
  LineReader lines_;
  const JsonlFields fields_;
};

}  // namespace

absl::StatusOr<SourceDocument> ParseJsonDocument(std::string_view line,
                                                 const JsonlFields& fields) {
  const nlohmann::json object =
      nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(QuotedValue(line), " is not accepted; accepted: ", kObject));
  }
  const absl::StatusOr<uint64_t> length = LengthOf(object, fields);
  if (!length.ok()) return length.status();
  const auto id = IdOf(object, fields);
  if (!id.ok()) return id.status();
  const auto loss_tokens = NamedNumber(object, fields.loss_tokens, *length);
  if (!loss_tokens.ok()) return loss_tokens.status();
  const auto source =
      NamedNumber(object, fields.source, std::numeric_limits<uint32_t>::max());
  if (!source.ok()) return source.status();
  return SourceDocument{static_cast<uint32_t>(*length), *id, Narrow(*loss_tokens),
                        Narrow(*source)};
}

absl::StatusOr<std::unique_ptr<DocumentSource>> OpenJsonlSource(
    const std::string& path, JsonlFields fields, const Interrupt& interrupt) {
  absl::StatusOr<InputFile> file = InputFile::Open(
      "--jsonl", path,
      "a readable file with one JSON object a line, or - for standard input");
  if (!file.ok()) return file.status();
  file->StopOn(interrupt);
  return std::make_unique<JsonlSource>(
      LineReader(*std::move(file), kLongestLine,
                 absl::StrCat(kObject, " of at most ", kLongestLine, " bytes")),
      std::move(fields));
}

}  // namespace evenpack
