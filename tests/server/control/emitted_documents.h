// What steps hold of each document, to see that each is in them exactly once.
#ifndef EVENPACK_TESTS_SERVER_CONTROL_EMITTED_DOCUMENTS_H_
#define EVENPACK_TESTS_SERVER_CONTROL_EMITTED_DOCUMENTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "server/sessions/published_step.h"

namespace evenpack::testing {

// By stream and sequence number: tokens. A document that comes twice has twice its own.
using DocumentTokens = std::map<std::pair<uint32_t, uint64_t>, uint64_t>;

inline DocumentTokens TokensOf(
    const std::vector<std::shared_ptr<const PublishedStep>>& steps) {
  DocumentTokens tokens;
  for (const auto& step : steps) {
    for (const MicroBatch& micro_batch : step->step.micro_batches) {
      for (const Document& document : micro_batch.documents) {
        tokens[{document.stream, document.sequence}] += document.length;
      }
    }
  }
  return tokens;
}

// Of streams with documents of these lengths.
inline DocumentTokens TokensOf(const std::vector<std::vector<uint32_t>>& streams) {
  DocumentTokens tokens;
  for (uint32_t stream = 0; stream < streams.size(); ++stream) {
    for (uint64_t i = 0; i < streams[stream].size(); ++i) {
      tokens[{stream, i}] = streams[stream][i];
    }
  }
  return tokens;
}

}  // namespace evenpack::testing

#endif  // EVENPACK_TESTS_SERVER_CONTROL_EMITTED_DOCUMENTS_H_
