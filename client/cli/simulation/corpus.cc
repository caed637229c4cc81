#include "client/cli/simulation/corpus.h"

#include <algorithm>

namespace evenpack {

Corpus FitToWindow(std::span<const uint32_t> lengths, uint32_t window,
                   OverWindow over_window) {
  Corpus corpus;
  corpus.lengths.reserve(lengths.size());
  for (const uint32_t length : lengths) {
    ++corpus.documents;
    corpus.tokens += length;
    if (length <= window) {
      corpus.lengths.push_back(length);
      continue;
    }
    ++corpus.documents_over_window;
    corpus.tokens_over_window += length;
    if (over_window == OverWindow::kDrop) continue;
    for (uint32_t left = length; left > 0; left -= std::min(left, window)) {
      corpus.lengths.push_back(std::min(left, window));
    }
  }
  return corpus;
}

}  // namespace evenpack
