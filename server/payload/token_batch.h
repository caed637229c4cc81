// Token ids of documents that were accepted together, as they came.
#ifndef EVENPACK_SERVER_PAYLOAD_TOKEN_BATCH_H_
#define EVENPACK_SERVER_PAYLOAD_TOKEN_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "server/core/document/token_file.h"

namespace evenpack {

// Of a token id: little-endian.
inline constexpr size_t kTokenBytes = 4;

// Constant, so any thread may read it.
class TokenBatch {
 public:
  // `tokens`: of documents with these lengths, one after another. `file`: where they
  // can be read again.
  TokenBatch(uint64_t first_sequence, std::span<const uint32_t> lengths,
             std::string tokens, std::optional<TokenFile> file = std::nullopt);
  // What Bytes() gave. `read`: as PayloadRoot::Read. DATA_LOSS: it is no such thing, or
  // the file has other tokens now, or fewer. Other errors of `read`.
  using ReadFile = absl::FunctionRef<absl::StatusOr<std::string>(
      const TokenFile& file, std::span<const uint32_t> lengths)>;
  static absl::StatusOr<TokenBatch> FromBytes(uint64_t first_sequence,
                                              std::string_view bytes, ReadFile read);
  // For a store: the lengths, and the tokens or where they can be read again.
  std::string Bytes() const;

  uint64_t first_sequence() const { return first_sequence_; }
  // The number behind the last document's.
  uint64_t end_sequence() const { return first_sequence_ + starts_.size() - 1; }
  // All tokens of one of its documents.
  std::string_view TokensOf(uint64_t sequence) const;
  // Whether they can be read again.
  bool in_file() const { return file_.has_value(); }
  // What the tokens take in memory.
  uint64_t size() const { return tokens_.size(); }

 private:
  uint64_t first_sequence_;
  // Of each document, then the number of tokens.
  std::vector<uint64_t> starts_;
  std::string tokens_;
  std::optional<TokenFile> file_;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_PAYLOAD_TOKEN_BATCH_H_
