// Requests that have arrived and are in no batch yet.
#ifndef EVENPACK_CLIENT_CLI_PREFILL_WAITING_REQUESTS_H_
#define EVENPACK_CLIENT_CLI_PREFILL_WAITING_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace evenpack {

// By number: requests are numbered in the order in which they arrive. Not thread-safe.
class WaitingRequests {
 public:
  // Tokens of every request, which must outlive this.
  explicit WaitingRequests(std::span<const uint32_t> lengths) : lengths_(lengths) {}

  // Not waiting yet; waiting.
  void Add(uint32_t request);
  void Remove(uint32_t request);

  bool empty() const { return by_arrival_.empty(); }
  size_t size() const { return by_arrival_.size(); }
  uint32_t LengthOf(uint32_t request) const { return lengths_[request]; }
  const std::set<uint32_t>& by_arrival() const { return by_arrival_; }
  // The longest of at most `tokens` tokens, of equal ones the first; none if all are
  // longer.
  std::optional<uint32_t> LongestUpTo(uint32_t tokens) const;

 private:
  // So that the first of equal lengths is found last, and rbegin is longest and first.
  std::pair<uint32_t, uint32_t> KeyOf(uint32_t request) const {
    return {lengths_[request], ~request};
  }

  const std::span<const uint32_t> lengths_;
  std::set<uint32_t> by_arrival_;
  // Length, and the complement of the number.
  std::set<std::pair<uint32_t, uint32_t>> by_length_;
};

}  // namespace evenpack

#endif  // EVENPACK_CLIENT_CLI_PREFILL_WAITING_REQUESTS_H_
