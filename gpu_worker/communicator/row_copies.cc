#include "gpu_worker/communicator/row_copies.h"

#include <algorithm>
#include <cstring>

namespace evenpack::worker {

void SortByTo(std::vector<RowMove>& moves) {
  std::sort(moves.begin(), moves.end(),
            [](const RowMove& a, const RowMove& b) { return a.to < b.to; });
}

std::vector<RowRange> RowsWithin(const std::vector<RowRange>& ranges, uint64_t first,
                                 uint64_t count) {
  std::vector<RowRange> within;
  for (const RowRange& range : ranges) {
    if (count == 0) break;
    const uint64_t before = std::min(first, range.count);
    const uint64_t taken = std::min(count, range.count - before);
    if (taken > 0) within.push_back({range.row + before, taken});
    first -= before;
    count -= taken;
  }
  return within;
}

std::vector<RowMove> MovesOf(const std::vector<RowRange>& sent,
                             const std::vector<RowRange>& received) {
  std::vector<RowMove> moves;
  auto source = sent.begin();
  uint64_t done = 0;  // rows of *source
  for (const RowRange& target : received) {
    for (uint64_t i = 0; i < target.count;) {
      const uint64_t count = std::min(target.count - i, source->count - done);
      if (count > 0) moves.push_back({source->row + done, target.row + i, count});
      i += count;
      done += count;
      if (done == source->count) {
        ++source;
        done = 0;
      }
    }
  }
  return moves;
}

std::vector<RowCopy> CopiesOf(std::span<const ExchangedTensor> from,
                              std::span<const ExchangedTensor> to,
                              std::span<const RowMove> moves, size_t row_bytes) {
  std::vector<RowCopy> copies;
  copies.reserve(to.size() * moves.size());
  for (size_t i = 0; i < to.size(); ++i) {
    AppendCopies(
        {from[i].send, from[i].send_stride, to[i].receive, to[i].receive_stride}, moves,
        row_bytes, copies);
  }
  return copies;
}

void AppendCopies(const ExchangedTensor& tensor, std::span<const RowMove> moves,
                  size_t row_bytes, std::vector<RowCopy>& copies) {
  for (const RowMove& move : moves) {
    copies.push_back(
        {static_cast<const char*>(tensor.send) + move.from * tensor.send_stride,
         tensor.send_stride,
         static_cast<char*>(tensor.receive) + move.to * tensor.receive_stride,
         tensor.receive_stride, row_bytes, move.count});
  }
}

void CopyRows(std::span<const RowCopy> copies) {
  for (const RowCopy& copy : copies) {
    const auto* const from = static_cast<const char*>(copy.from);
    auto* const to = static_cast<char*>(copy.to);
    if (copy.from_stride == copy.row_bytes && copy.to_stride == copy.row_bytes) {
      std::memcpy(to, from, copy.rows * copy.row_bytes);
      continue;
    }
    for (uint64_t row = 0; row < copy.rows; ++row) {
      std::memcpy(to + row * copy.to_stride, from + row * copy.from_stride,
                  copy.row_bytes);
    }
  }
}

}  // namespace evenpack::worker
