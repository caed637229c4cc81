#include "gpu_worker/nccl/exchange_plan.h"

namespace evenpack::worker {
namespace {

// Messages begin where the widest loads may.
constexpr size_t kAlignment = 256;

size_t Aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Whether the rows lie one after another, without a gap between them.
bool IsInOnePiece(const std::vector<RowRange>& ranges, size_t stride,
                  size_t row_bytes) {
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].row != ranges[i - 1].row + ranges[i - 1].count) return false;
  }
  return stride == row_bytes || RowsIn(ranges) == 1;
}

// One direction of an exchange.
struct Half {
  const std::vector<std::vector<RowRange>>& rows;
  bool sends = false;

  size_t StrideOf(const ExchangedTensor& tensor) const {
    return sends ? tensor.send_stride : tensor.receive_stride;
  }
};

// Calls visit(peer, tensor, bytes) for each message, in the order of both ends.
template <typename Visit>
void ForEachMessage(const Exchange& exchange, const Half& half, Visit visit) {
  for (uint32_t peer = 0; peer < half.rows.size(); ++peer) {
    const size_t bytes = RowsIn(half.rows[peer]) * exchange.row_bytes;
    if (bytes == 0) continue;
    for (const ExchangedTensor& tensor : exchange.tensors) visit(peer, tensor, bytes);
  }
}

size_t StagingBytes(const Exchange& exchange, const Half& half) {
  size_t total = 0;
  ForEachMessage(
      exchange, half, [&](uint32_t peer, const ExchangedTensor& tensor, size_t bytes) {
        if (!IsInOnePiece(half.rows[peer], half.StrideOf(tensor), exchange.row_bytes)) {
          total += Aligned(bytes);
        }
      });
  return total;
}

Half SendsOf(const Exchange& exchange) { return {*exchange.send_rows, true}; }
Half ReceivesOf(const Exchange& exchange) { return {*exchange.receive_rows, false}; }

// Between the ranges of rows at `rows` and packed ones.
void AppendCopies(const std::vector<RowRange>& ranges, char* rows, size_t stride,
                  char* packed, size_t row_bytes, bool pack,
                  std::vector<RowCopy>& copies) {
  for (const RowRange& range : ranges) {
    if (range.count == 0) continue;
    char* const at = rows + range.row * stride;
    copies.push_back(
        pack ? RowCopy{at, stride, packed, row_bytes, row_bytes, range.count}
             : RowCopy{packed, row_bytes, at, stride, row_bytes, range.count});
    packed += range.count * row_bytes;
  }
}

}  // namespace

size_t StagingBytes(const Exchange& exchange) {
  return StagingBytes(exchange, SendsOf(exchange)) +
         StagingBytes(exchange, ReceivesOf(exchange));
}

ExchangePlan PlanExchange(const Exchange& exchange, void* staging) {
  ExchangePlan plan;
  char* next = static_cast<char*>(staging);
  const auto add = [&](const Half& half, std::vector<Message>& messages,
                       std::vector<RowCopy>& copies) {
    ForEachMessage(
        exchange, half,
        [&](uint32_t peer, const ExchangedTensor& tensor, size_t bytes) {
          const std::vector<RowRange>& ranges = half.rows[peer];
          const size_t stride = half.StrideOf(tensor);
          // Of a tensor that is sent nothing is written.
          char* const rows = half.sends
                                 ? static_cast<char*>(const_cast<void*>(tensor.send))
                                 : static_cast<char*>(tensor.receive);
          if (IsInOnePiece(ranges, stride, exchange.row_bytes)) {
            messages.push_back({peer, rows + ranges.front().row * stride, bytes});
            return;
          }
          messages.push_back({peer, next, bytes});
          AppendCopies(ranges, rows, stride, next, exchange.row_bytes, half.sends,
                       copies);
          next += Aligned(bytes);
        });
  };
  add(SendsOf(exchange), plan.sends, plan.pack);
  add(ReceivesOf(exchange), plan.receives, plan.unpack);
  return plan;
}

}  // namespace evenpack::worker
