#include "client/cpp/wire_digest.h"

#include "server/core/digest/digest_bytes.h"

namespace evenpack::client {

std::optional<std::vector<Digest128>> ReadDigests(std::string_view bytes) {
  if (bytes.size() % kDigestBytes != 0) return std::nullopt;
  std::vector<Digest128> digests;
  digests.reserve(bytes.size() / kDigestBytes);
  for (; !bytes.empty(); bytes.remove_prefix(kDigestBytes)) {
    digests.push_back(*DigestFromBytes(bytes.substr(0, kDigestBytes)));
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
