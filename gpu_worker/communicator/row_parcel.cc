#include "gpu_worker/communicator/row_parcel.h"

#include <algorithm>

#include "gpu_worker/communicator/row_copies.h"

namespace evenpack::worker {

RowParcel::RowParcel(const Exchange& exchange, const std::vector<RowRange>& ranges,
                     size_t most_bytes)
    : exchange_(exchange),
      ranges_(ranges),
      bytes_of_row_(exchange.tensors.size() * exchange.row_bytes),
      rows_(RowsIn(ranges)),
      rows_at_once_(
          std::max<uint64_t>(1, most_bytes / std::max<size_t>(1, bytes_of_row_))),
      memory_(bytes()) {}

uint64_t RowParcel::count() const { return std::min(rows_at_once_, rows_ - first_); }

ExchangedTensor RowParcel::Packed(size_t tensor) {
  char* const first = data() + tensor * count() * exchange_.row_bytes;
  return {first, exchange_.row_bytes, first, exchange_.row_bytes};
}

void RowParcel::Pack() {
  const std::vector<RowMove> moves =
      MovesOf(RowsWithin(ranges_, first_, count()), {{0, count()}});
  for (size_t t = 0; t < exchange_.tensors.size(); ++t) {
    const ExchangedTensor packed = Packed(t);
    CopyRows(
        CopiesOf({&exchange_.tensors[t], 1}, {&packed, 1}, moves, exchange_.row_bytes));
  }
}

void RowParcel::Unpack() {
  const std::vector<RowMove> moves =
      MovesOf({{0, count()}}, RowsWithin(ranges_, first_, count()));
  for (size_t t = 0; t < exchange_.tensors.size(); ++t) {
    const ExchangedTensor packed = Packed(t);
    CopyRows(
        CopiesOf({&packed, 1}, {&exchange_.tensors[t], 1}, moves, exchange_.row_bytes));
  }
}

}  // namespace evenpack::worker
