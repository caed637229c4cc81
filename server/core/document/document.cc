#include "server/core/document/document.h"

namespace evenpack {

std::vector<uint32_t> LengthsOf(std::span<const Document> documents) {
  std::vector<uint32_t> lengths;
  lengths.reserve(documents.size());
  for (const Document& document : documents) lengths.push_back(document.length);
  return lengths;
}

Document CutFront(Document& rest, uint32_t length) {
  Document front = rest;
  front.length = length;
  front.loss_tokens = static_cast<uint32_t>(static_cast<uint64_t>(rest.loss_tokens) *
                                            length / rest.length);
  rest.offset += length;
  rest.length -= length;
  rest.loss_tokens -= front.loss_tokens;
  return front;
}

}  // namespace evenpack
