// The documents of a simulation, fitted to its window.
#ifndef EVENPACK_CLIENT_CLI_SIMULATION_CORPUS_H_
#define EVENPACK_CLIENT_CLI_SIMULATION_CORPUS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace evenpack {

// What becomes of documents longer than the window, which plain packing can't hold.
enum class OverWindow : uint8_t {
  kDrop,
  kCut,  // at the window; its pieces are documents of their own
};

struct Corpus {
  // Fitted, in order.
  std::vector<uint32_t> lengths;
  // What was given.
  uint64_t documents = 0;
  uint64_t tokens = 0;
  // Of that, longer than the window.
  uint64_t documents_over_window = 0;
  uint64_t tokens_over_window = 0;
};

Corpus FitToWindow(std::span<const uint32_t> lengths, uint32_t window,
                   OverWindow over_window);

// An error of a simulation of `corpus`; where its documents do not come to a step,
// FAILED_PRECONDITION, with how many were dropped and the flag that has them.
absl::Status WithDropped(const absl::Status& status, const Corpus& corpus,
                         OverWindow over_window);

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_SIMULATION_CORPUS_H_
