// A line of JSON is refused, or is a document within its bounds; a file is its lines.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "client/cli/interrupt.h"
#include "client/cli/online/jsonl_source.h"
#include "server/core/document/document.h"
#include "tests/fuzz/given_file.h"
#include "tests/fuzz/require.h"

namespace evenpack::fuzz {
namespace {

// Which fields are named is chosen by the bits of `choice`.
JsonlFields FieldsOf(uint8_t choice) {
  JsonlFields fields;
  if ((choice & 3U) == 1) fields.length = "length";
  if ((choice & 3U) == 2) fields.text = "text";
  if ((choice & 4U) != 0) fields.id = "id";
  if ((choice & 8U) != 0) fields.loss_tokens = "loss";
  if ((choice & 16U) != 0) fields.source = "source";
  return fields;
}

void RequireInBounds(const SourceDocument& document, const JsonlFields& fields) {
  Require(document.length >= 1, "a document has a token");
  // A text's bytes are bounded by the line's.
  Require(document.length <= kMaxDocumentLength, "no document is too long");
  Require(document.loss_tokens.value_or(0) <= document.length,
          "no more tokens count than there are");
  Require(document.id.has_value() || !fields.id.has_value(), "a named id is there");
  Require(document.loss_tokens.has_value() == fields.loss_tokens.has_value(),
          "loss tokens are there where they are named");
  Require(document.source.has_value() == fields.source.has_value(), "so is the source");
}

bool AreSame(const SourceDocument& a, const SourceDocument& b) {
  return a.length == b.length && a.id == b.id && a.loss_tokens == b.loss_tokens &&
         a.source == b.source;
}

// The file's documents up to its first bad line; false where it has one.
bool ReadFile(std::string_view text, const JsonlFields& fields,
              std::vector<SourceDocument>& documents) {
  const GivenFile file(text);
  static const Interrupt interrupt;
  const auto source =
      Required(OpenJsonlSource(file.path(), fields, interrupt), "a file");
  while (true) {
    const auto document = source->Next();
    if (!document.ok()) {
      RequireRefusal(document.status(), "a line that is no document",
                     absl::StatusCode::kInvalidArgument);
      Require(absl::StartsWith(document.status().message(), "line "),
              "a refused line is named", document.status().message());
      return false;
    }
    if (!document->has_value()) return true;
    RequireInBounds(**document, fields);
    documents.push_back(**document);
  }
}

}  // namespace
}  // namespace evenpack::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace evenpack;
  if (size == 0) return 0;
  const JsonlFields fields = fuzz::FieldsOf(data[0]);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<SourceDocument> documents;
  const bool good = fuzz::ReadFile(text, fields, documents);
  std::string_view rest = text;
  for (const SourceDocument& document : documents) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    fuzz::Require(
        fuzz::AreSame(document,
                      fuzz::Required(ParseJsonDocument(line, fields), "a line")),
        "a file's document is its line's");
  }
  fuzz::Require(!good || rest.find_first_not_of(" \t\r\n") == rest.npos,
                "a good file is read to its end");
  return 0;
}
