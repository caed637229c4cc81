// Documents as JSON objects, one a line.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_JSONL_SOURCE_H_
#define EVENPACK_CLIENT_CLI_ONLINE_JSONL_SOURCE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/cli/interrupt.h"
#include "client/cli/online/document_source.h"

namespace evenpack {

// Names of fields; a field that is named must be there.
struct JsonlFields {
  // Tokens of the document. At most one of this and the next two; none: "length" where
  // an object has it, else "text", else "tokens".
  std::optional<std::string> length;
  // A text whose bytes in UTF-8 are counted as tokens.
  std::optional<std::string> text;
  // A list of token ids, 0 to 2^31 - 1.
  std::optional<std::string> tokens;
  // One token more behind each text, which may then be empty.
  bool end_of_document = false;
  // A whole number. Not named: "id" where that is one.
  std::optional<std::string> id;
  std::optional<std::string> loss_tokens;
  std::optional<std::string> source;
};

// INVALID_ARGUMENT naming the field, or saying that `line` is no JSON object.
absl::StatusOr<SourceDocument> ParseJsonDocument(std::string_view line,
                                                 const JsonlFields& fields);

// The file that --jsonl names, or standard input where `path` is "-"; lines of at most
// 256 MiB. `interrupt` must outlive the source.
absl::StatusOr<std::unique_ptr<DocumentSource>> OpenJsonlSource(
    const std::string& path, JsonlFields fields, const Interrupt& interrupt);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_JSONL_SOURCE_H_
