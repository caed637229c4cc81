#include "client/cpp/document_batch.h"

#include <cstdint>
#include <vector>

#include "evenpack/v1/packing_service.pb.h"

namespace evenpack::client {
namespace {

// `held` is the message's column for the `held_count` documents before those appended;
// `implied` gives what a column that was left out stands for, by index in the message.
template <typename Value, typename Implied>
void AppendColumn(const std::vector<Value>& column, size_t first, size_t count,
                  size_t held_count, const Implied& implied,
                  google::protobuf::RepeatedField<Value>& held) {
  if (column.empty() && held.empty()) return;
  held.Reserve(static_cast<int>(held_count + count));
  if (held.empty()) {
    for (size_t i = 0; i < held_count; ++i) held.Add(implied(i));
  }
  for (size_t i = 0; i < count; ++i) {
    held.Add(column.empty() ? implied(held_count + i) : column[first + i]);
  }
}

}  // namespace

void AppendDocuments(const DocumentColumns& documents, size_t first, size_t count,
                     v1::DocumentBatch& batch) {
  const auto held = static_cast<size_t>(batch.length_size());
  const auto from = documents.length.begin() + static_cast<ptrdiff_t>(first);
  batch.mutable_length()->Add(from, from + static_cast<ptrdiff_t>(count));
  AppendColumn(
      documents.id, first, count, held,
      [&batch](size_t i) { return batch.first_sequence() + i; }, *batch.mutable_id());
  AppendColumn(
      documents.loss_tokens, first, count, held,
      [&batch](size_t i) { return batch.length(static_cast<int>(i)); },
      *batch.mutable_loss_tokens());
  AppendColumn(
      documents.source, first, count, held, [](size_t) { return uint32_t{0}; },
      *batch.mutable_source());
}

}  // namespace evenpack::client
