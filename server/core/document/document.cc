#include "server/core/document/document.h"

namespace evenpack {

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
