// Token ids that tell the document and the place in it that they are of.
#ifndef EVENPACK_TESTS_TESTING_MADE_TOKENS_H_
#define EVENPACK_TESTS_TESTING_MADE_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "server/core/document/document.h"

namespace evenpack::testing {

// Of the tokens [begin, end) of a document.
inline std::string MadeTokens(uint32_t stream, uint64_t sequence, uint32_t begin,
                              uint32_t end) {
  std::string tokens;
  for (uint32_t i = begin; i < end; ++i) {
    tokens.push_back(static_cast<char>(stream));
    tokens.push_back(static_cast<char>(sequence));
    tokens.push_back(static_cast<char>(i >> 8));
    tokens.push_back(static_cast<char>(i));
  }
  return tokens;
}

// Of whole documents from `first_sequence` on.
inline std::string MadeTokens(uint32_t stream, uint64_t first_sequence,
                              std::span<const uint32_t> lengths) {
  std::string tokens;
  for (size_t i = 0; i < lengths.size(); ++i) {
    tokens += MadeTokens(stream, first_sequence + i, 0, lengths[i]);
  }
  return tokens;
}

// Of a piece.
inline std::string MadeTokens(const Document& piece) {
  return MadeTokens(piece.stream, piece.sequence, piece.offset,
                    piece.offset + piece.length);
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_TESTING_MADE_TOKENS_H_
