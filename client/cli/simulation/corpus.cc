#include "client/cli/simulation/corpus.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

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

absl::Status WithDropped(const absl::Status& status, const Corpus& corpus,
                         OverWindow over_window) {
  if (!absl::IsFailedPrecondition(status) || over_window == OverWindow::kCut ||
      corpus.documents_over_window == 0) {
    return status;
  }
  return absl::FailedPreconditionError(
      absl::StrCat(status.message(), "; longer ones, which are left out: ",
                   corpus.documents_over_window, " (--over-window cut has them)"));
}

}  // namespace evenpack
