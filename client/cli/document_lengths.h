// The documents of a command without a server: a file of lengths, or a dataset's index.
#ifndef EVENPACK_CLIENT_CLI_DOCUMENT_LENGTHS_H_
#define EVENPACK_CLIENT_CLI_DOCUMENT_LENGTHS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/job_flags.h"

namespace evenpack {

struct DocumentLengths {
  // Tokens of each document, 1 or more; at least one document.
  std::vector<uint32_t> lengths;
  // For standard error: "evenpackctl: note: ...\n" where documents of an index have no
  // token and were left out, else nothing.
  std::string note;
};

// Reads what --lengths or --idx names, none of it longer than `max_length` or, where
// longer documents are cut, than as many pieces of that as a step can have
// (kMaxPieces). INVALID_ARGUMENT naming the line, or the file and the
// document or field, that is not accepted: see lengths_file.h and megatron_index.h.
absl::StatusOr<DocumentLengths> ReadDocumentLengths(const FeedFlags& feed,
                                                    uint32_t max_length,
                                                    bool split_overlong);

// The same for documents of any length.
absl::StatusOr<DocumentLengths> ReadDocumentLengths(const FeedFlags& feed);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_DOCUMENT_LENGTHS_H_
