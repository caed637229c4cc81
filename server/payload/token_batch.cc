#include "server/payload/token_batch.h"

#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/core/digest/digest.h"
#include "server/core/digest/digest_bytes.h"
#include "server/core/engine/byte_codec.h"

namespace evenpack {
namespace {

std::string DigestOf(const std::string& tokens) {
  DigestBuilder builder;
  builder.Text(tokens);
  return DigestBytes(builder.Finish());
}

}  // namespace

TokenBatch::TokenBatch(uint64_t first_sequence, std::span<const uint32_t> lengths,
                       std::string tokens, std::optional<TokenFile> file)
    : first_sequence_(first_sequence),
      tokens_(std::move(tokens)),
      file_(std::move(file)) {
  starts_.reserve(lengths.size() + 1);
  uint64_t start = 0;
  for (const uint32_t length : lengths) {
    starts_.push_back(start);
    start += length;
  }
  starts_.push_back(start);
}

absl::StatusOr<TokenBatch> TokenBatch::FromBytes(uint64_t first_sequence,
                                                 std::string_view bytes,
                                                 ReadFile read) {
  const auto wrong = [first_sequence](absl::string_view how) {
    return absl::DataLossError(absl::StrCat("the tokens from document ", first_sequence,
                                            " on are not as they were ", how));
  };
  ByteReader reader(bytes);
  bool in_file = false;
  std::vector<uint32_t> lengths;
  std::string tokens;
  reader.All(in_file, lengths);
  std::optional<TokenFile> file;
  std::string digest;
  if (in_file) {
    file.emplace();
    reader.All(file->path, file->token_bytes, file->offsets, digest);
  } else {
    reader.All(tokens);
  }
  if (!reader.ok() || !reader.AtEnd()) return wrong("written");
  if (in_file) {
    const std::string changed =
        absl::StrCat("when they were accepted: '", file->path, "' has changed");
    absl::StatusOr<std::string> found = read(*file, lengths);
    // A file that isn't there may come back; one that is shorter was another.
    if (absl::StartsWith(found.status().message(), "token_file.offset")) {
      return wrong(absl::StrCat(changed, ": ", found.status().message()));
    }
    if (!found.ok()) return found.status();
    tokens = *std::move(found);
    if (DigestOf(tokens) != digest) return wrong(changed);
  }
  const uint64_t total =
      std::accumulate(lengths.begin(), lengths.end(), uint64_t{0}) * kTokenBytes;
  if (tokens.size() != total) return wrong("written");
  return TokenBatch(first_sequence, lengths, std::move(tokens), std::move(file));
}

std::string TokenBatch::Bytes() const {
  std::vector<uint32_t> lengths;
  lengths.reserve(starts_.size() - 1);
  for (size_t i = 0; i + 1 < starts_.size(); ++i) {
    lengths.push_back(static_cast<uint32_t>(starts_[i + 1] - starts_[i]));
  }
  ByteWriter writer;
  writer.All(file_.has_value());
  writer.All(lengths);
  if (file_.has_value()) {
    writer.All(file_->path);
    writer.All(file_->token_bytes);
    writer.All(file_->offsets, DigestOf(tokens_));
  } else {
    writer.All(tokens_);
  }
  return std::move(writer).bytes();
}

std::string_view TokenBatch::TokensOf(uint64_t sequence) const {
  const auto i = static_cast<size_t>(sequence - first_sequence_);
  return std::string_view(tokens_).substr(starts_[i] * kTokenBytes,
                                          (starts_[i + 1] - starts_[i]) * kTokenBytes);
}

}  // namespace evenpack
