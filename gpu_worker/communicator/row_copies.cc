#include "gpu_worker/communicator/row_copies.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace evenpack::worker {

void CopyRows(const ExchangedTensor& from, const std::vector<RowRange>& sent,
              const ExchangedTensor& to, const std::vector<RowRange>& received,
              size_t row_bytes) {
  auto source = sent.begin();
  uint64_t done = 0;  // rows of *source
  for (const RowRange& target : received) {
    for (uint64_t i = 0; i < target.count;) {
      const uint64_t count = std::min(target.count - i, source->count - done);
      const char* read =
          static_cast<const char*>(from.send) + (source->row + done) * from.send_stride;
      char* write =
          static_cast<char*>(to.receive) + (target.row + i) * to.receive_stride;
      if (from.send_stride == row_bytes && to.receive_stride == row_bytes) {
        std::memcpy(write, read, count * row_bytes);
      } else {
        for (uint64_t row = 0; row < count; ++row) {
          std::memcpy(write + row * to.receive_stride, read + row * from.send_stride,
                      row_bytes);
        }
      }
      i += count;
      done += count;
      if (done == source->count) {
        ++source;
        done = 0;
      }
    }
  }
}

}  // namespace evenpack::worker
