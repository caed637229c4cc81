#include "client/cli/document_lengths.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/cli/lengths_file.h"
#include "client/cli/megatron_index.h"
#include "client/cli/quoted_value.h"
#include "server/core/document/document.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

// `most`: tokens of the longest document that is accepted.
absl::StatusOr<DocumentLengths> ReadIndex(const std::string& path, uint32_t most) {
  absl::StatusOr<MegatronIndexReader> reader = MegatronIndexReader::Open(path);
  if (!reader.ok()) return reader.status();
  DocumentLengths documents;
  documents.lengths.reserve(reader->documents());
  while (true) {
    const absl::StatusOr<std::optional<uint32_t>> tokens = reader->Next();
    if (!tokens.ok()) return tokens.status();
    if (!tokens->has_value()) break;
    if (**tokens > most) {
      return InvalidField(reader->DocumentName(), **tokens, AcceptedLengths(most));
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
  if (!feed.index.empty()) {
    return ReadIndex(MegatronIndexPath(feed.index),
                     split_overlong ? kMaxDocumentLength : max_length);
  }
  absl::StatusOr<std::vector<uint32_t>> lengths =
      ReadLengths(feed.lengths, max_length, split_overlong);
  if (!lengths.ok()) return lengths.status();
  return DocumentLengths{*std::move(lengths), ""};
}

absl::StatusOr<DocumentLengths> ReadDocumentLengths(const FeedFlags& feed) {
  return ReadDocumentLengths(feed, kMaxDocumentLength, true);
}

}  // namespace evenpack
