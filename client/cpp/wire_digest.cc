#include "client/cpp/wire_digest.h"

#include <cstddef>
#include <cstdint>

namespace evenpack::client {
namespace {

constexpr size_t kWordBytes = 8;
constexpr size_t kDigestBytes = 2 * kWordBytes;

void AppendWord(uint64_t word, std::string& bytes) {
  for (size_t i = 0; i < kWordBytes; ++i) {
    bytes.push_back(static_cast<char>(word >> (8 * i) & 0xff));
  }
}

uint64_t ReadWord(std::string_view bytes) {
  uint64_t word = 0;
  for (size_t i = 0; i < kWordBytes; ++i) {
    word |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return word;
}

}  // namespace

std::string DigestBytes(const Digest128& digest) {
  std::string bytes;
  bytes.reserve(kDigestBytes);
  AppendWord(digest.low, bytes);
  AppendWord(digest.high, bytes);
  return bytes;
}

std::optional<Digest128> ReadDigest(std::string_view bytes) {
  if (bytes.size() != kDigestBytes) return std::nullopt;
  return Digest128{ReadWord(bytes), ReadWord(bytes.substr(kWordBytes))};
}

std::optional<std::vector<Digest128>> ReadDigests(std::string_view bytes) {
  if (bytes.size() % kDigestBytes != 0) return std::nullopt;
  std::vector<Digest128> digests;
  digests.reserve(bytes.size() / kDigestBytes);
  for (; !bytes.empty(); bytes.remove_prefix(kDigestBytes)) {
    digests.push_back(*ReadDigest(bytes.substr(0, kDigestBytes)));
  }
  return digests;
}

Digest128 StepDigestOf(const Digest128& previous, uint64_t index,
                       std::span<const Digest128> micro_batches) {
  DigestBuilder builder;
  builder.Add(previous);
  builder.Word(index);
  builder.Word(micro_batches.size());
  for (const Digest128& digest : micro_batches) builder.Add(digest);
  return builder.Finish();
}

}  // namespace evenpack::client
