#include "client/cli/document_lengths.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/lengths_file.h"
#include "client/cli/megatron_index.h"
#include "client/cli/quoted_value.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"
#include "server/core/engine/job_layout.h"
#include "server/runtime/one_line.h"

namespace evenpack {
namespace {

// Of a document, as the engine has it for a job without padding (job_layout.h).
struct LongestLength {
  uint32_t tokens = 0;
  // As a message says what is accepted.
  std::string accepted;
};

LongestLength LongestOf(uint32_t max_length, bool split_overlong) {
  if (!split_overlong) {
    return {max_length, absl::StrCat("1 to ", max_length,
                                     " tokens, which is --max-length, or longer with "
                                     "--split-overlong true")};
  }
  const auto tokens = static_cast<uint32_t>(
      std::min<uint64_t>(uint64_t{max_length} * kMaxPieces, kMaxDocumentLength));
  return {tokens, absl::StrCat("1 to ", tokens, " tokens, which is ", kMaxPieces,
                               " pieces of --max-length")};
}

absl::StatusOr<DocumentLengths> ReadIndex(const std::string& path,
                                          const LongestLength& longest) {
  absl::StatusOr<MegatronIndexReader> reader = MegatronIndexReader::Open(path);
  if (!reader.ok()) return reader.status();
  DocumentLengths documents;
  documents.lengths.reserve(reader->documents());
  while (true) {
    const absl::StatusOr<std::optional<uint32_t>> tokens = reader->Next();
    if (!tokens.ok()) return tokens.status();
    if (!tokens->has_value()) break;
    if (**tokens > longest.tokens) {
      return InvalidField(reader->DocumentName(), **tokens, longest.accepted);
    }
    if (**tokens > 0) documents.lengths.push_back(**tokens);
  }
  if (documents.lengths.empty()) {
    return InvalidField("--idx", absl::StrCat(QuotedValue(path), " (no tokens)"),
                        "an index with a document that has tokens");
  }
  const uint64_t empty = reader->documents() - documents.lengths.size();
  if (empty > 0) {
    documents.note = absl::StrCat("evenpackctl: note: documents of ", OnOneLine(path),
                                  " without a token, left out: ", empty, "\n");
  }
  return documents;
}

}  // namespace

absl::StatusOr<DocumentLengths> ReadDocumentLengths(const FeedFlags& feed,
                                                    uint32_t max_length,
                                                    bool split_overlong) {
  const LongestLength longest = LongestOf(max_length, split_overlong);
  if (!feed.index.empty()) return ReadIndex(MegatronIndexPath(feed.index), longest);
  absl::StatusOr<std::vector<uint32_t>> lengths = ReadLengths(feed.lengths);
  if (!lengths.ok()) return lengths.status();
  if (absl::Status status = CheckLengths(*lengths, longest.tokens, longest.accepted);
      !status.ok()) {
    return status;
  }
  return DocumentLengths{*std::move(lengths), ""};
}

absl::StatusOr<DocumentLengths> ReadDocumentLengths(const FeedFlags& feed) {
  return ReadDocumentLengths(feed, kMaxDocumentLength, true);
}

}  // namespace evenpack
