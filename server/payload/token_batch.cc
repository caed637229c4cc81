#include "server/payload/token_batch.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/core/engine/byte_codec.h"

namespace evenpack {

TokenBatch::TokenBatch(uint64_t first_sequence, std::span<const uint32_t> lengths,
                       std::string tokens)
    : first_sequence_(first_sequence), tokens_(std::move(tokens)) {
  starts_.reserve(lengths.size() + 1);
  uint64_t start = 0;
  for (const uint32_t length : lengths) {
    starts_.push_back(start);
    start += length;
  }
  starts_.push_back(start);
}

absl::StatusOr<TokenBatch> TokenBatch::FromBytes(uint64_t first_sequence,
                                                 std::string_view bytes) {
  ByteReader reader(bytes);
  std::vector<uint32_t> lengths;
  std::string tokens;
  reader.All(lengths, tokens);
  uint64_t total = 0;
  for (const uint32_t length : lengths) total += length;
  if (!reader.ok() || !reader.AtEnd() || tokens.size() != total * kTokenBytes) {
    return absl::DataLossError(absl::StrCat("the tokens from document ", first_sequence,
                                            " on are not as they were written"));
  }
  return TokenBatch(first_sequence, lengths, std::move(tokens));
}

std::string TokenBatch::Bytes() const {
  std::vector<uint32_t> lengths;
  lengths.reserve(starts_.size() - 1);
  for (size_t i = 0; i + 1 < starts_.size(); ++i) {
    lengths.push_back(static_cast<uint32_t>(starts_[i + 1] - starts_[i]));
  }
  ByteWriter writer;
  writer.All(lengths, tokens_);
  return std::move(writer).bytes();
}

std::string_view TokenBatch::TokensOf(uint64_t sequence) const {
  const auto i = static_cast<size_t>(sequence - first_sequence_);
  return std::string_view(tokens_).substr(starts_[i] * kTokenBytes,
                                          (starts_[i + 1] - starts_[i]) * kTokenBytes);
}

}  // namespace evenpack
