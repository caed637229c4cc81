#include "client/cli/prefill/waiting_requests.h"

#include <iterator>
#include <limits>

namespace evenpack {

void WaitingRequests::Add(uint32_t request) {
  by_arrival_.insert(by_arrival_.end(), request);
  by_length_.insert(KeyOf(request));
}

void WaitingRequests::Remove(uint32_t request) {
  by_arrival_.erase(request);
  by_length_.erase(KeyOf(request));
}

std::optional<uint32_t> WaitingRequests::LongestUpTo(uint32_t tokens) const {
  const auto above =
      by_length_.upper_bound({tokens, std::numeric_limits<uint32_t>::max()});
  if (above == by_length_.begin()) return std::nullopt;
  return ~std::prev(above)->second;
}

}  // namespace evenpack
