#include "gpu_worker/profile/exchange_sizes.h"

#include <algorithm>
#include <memory>

#include "gpu_worker/device/rank_values.h"

namespace evenpack::worker {
namespace {

constexpr uint64_t kRowBytes = 64;
constexpr uint64_t kLeastBytes = 4096;

// Rounded up to whole rows from each peer.
uint64_t RoundedSize(uint64_t bytes, uint64_t peers) {
  const uint64_t step = kRowBytes * peers;
  return (bytes + step - 1) / step * step;
}

// The memory of one exchange, and what is asked of the communicator.
class MadeExchange {
 public:
  MadeExchange(uint64_t bytes, const Communicator& communicator)
      : send_(communicator.size()), receive_(communicator.size()) {
    const uint64_t rows = bytes / kRowBytes / (communicator.size() - 1);
    sent_.resize(rows * kRowBytes);
    received_.resize(bytes);
    uint64_t at = 0;
    for (uint32_t peer = 0; peer < communicator.size(); ++peer) {
      if (peer == communicator.rank()) continue;
      send_[peer] = {{0, rows}};
      receive_[peer] = {{at, rows}};
      at += rows;
    }
    exchange_.tensors = {{sent_.data(), kRowBytes, received_.data(), kRowBytes}};
    exchange_.row_bytes = kRowBytes;
    exchange_.send_rows = &send_;
    exchange_.receive_rows = &receive_;
  }
  MadeExchange(const MadeExchange&) = delete;
  MadeExchange& operator=(const MadeExchange&) = delete;

  absl::Status Run(Communicator& communicator) const {
    return communicator.Start(exchange_)->Wait();
  }

 private:
  std::vector<char> sent_;
  std::vector<char> received_;
  std::vector<std::vector<RowRange>> send_;
  std::vector<std::vector<RowRange>> receive_;
  Exchange exchange_;
};

}  // namespace

std::vector<uint64_t> ExchangeSizes(uint32_t ranks, uint64_t most) {
  std::vector<uint64_t> sizes;
  if (ranks < 2) return sizes;
  const uint64_t last = RoundedSize(most, ranks - 1);
  for (uint64_t bytes = kLeastBytes;; bytes *= 4) {
    const uint64_t size = RoundedSize(bytes, ranks - 1);
    if (size >= last) break;
    if (sizes.empty() || size > sizes.back()) sizes.push_back(size);
  }
  sizes.push_back(last);
  return sizes;
}

absl::StatusOr<std::vector<MeasuredExchange>> MeasureExchanges(
    const std::vector<uint64_t>& sizes, const Repetitions& repetitions,
    const Clock& clock, Communicator& communicator,
    const std::function<void(const MeasuredExchange&)>& shown) {
  std::vector<MeasuredExchange> measured;
  for (const uint64_t bytes : sizes) {
    const MadeExchange exchange(bytes, communicator);
    const absl::StatusOr<int64_t> own = MedianLatencyNs(
        clock, repetitions, [&] { return AwaitRanks(communicator, Device::Host()); },
        [&] { return exchange.Run(communicator); });
    if (!own.ok()) return own.status();
    const auto all = OfAllRanks(communicator, Device::Host(), *own);
    if (!all.ok()) return all.status();
    measured.push_back({bytes, *std::max_element(all->begin(), all->end())});
    shown(measured.back());
  }
  return measured;
}

}  // namespace evenpack::worker
