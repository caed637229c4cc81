// The documents that `ingest` sends, one after another.
#ifndef EVENPACK_CLIENT_CLI_ONLINE_DOCUMENT_SOURCE_H_
#define EVENPACK_CLIENT_CLI_ONLINE_DOCUMENT_SOURCE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/flag_values.h"
#include "client/cli/interrupt.h"

namespace evenpack {

struct SourceDocument {
  // Tokens, 1 to kMaxDocumentLength.
  uint32_t length = 0;
  // What the file doesn't say is left to the server's defaults.
  std::optional<uint64_t> id;
  // At most `length`.
  std::optional<uint32_t> loss_tokens;
  std::optional<uint32_t> source;
};

// Not thread-safe.
class DocumentSource {
 public:
  // How much was read of how much; a total of 0 is not known.
  struct Progress {
    uint64_t done = 0;
    uint64_t total = 0;
  };

  virtual ~DocumentSource() = default;

  // To find a document's length takes long: what a stream has already is to be passed
  // over by Skip rather than sent again and compared.
  virtual bool skips() const { return false; }
  // Passes over the first `count` documents, before the first call of Next and at most
  // once: how many, fewer where there are no more. UNIMPLEMENTED unless skips();
  // else as Next.
  virtual absl::StatusOr<uint64_t> Skip(uint64_t /*count*/) {
    return absl::UnimplementedError("documents of this file are not passed over");
  }
  // The next document; none at the end.
  // INVALID_ARGUMENT naming the line; CANCELLED if interrupted while it waits.
  virtual absl::StatusOr<std::optional<SourceDocument>> Next() = 0;
  // Next would not wait for someone to write more.
  virtual bool IsReady() const = 0;
  virtual Progress progress() const = 0;
  // For standard error: documents that were left out, else nothing.
  virtual std::string note() const { return {}; }
};

// What --lengths or --idx (with --repeat and --seed) or --jsonl (with its fields and
// its tokenizer) names. `interrupt` must outlive the source. INVALID_ARGUMENT naming
// the flag.
absl::StatusOr<std::unique_ptr<DocumentSource>> OpenDocumentSource(
    const FlagValues& values, const Interrupt& interrupt);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_ONLINE_DOCUMENT_SOURCE_H_
