#include "client/cpp/document_batch.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "client/cpp/token_ids.h"
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

size_t CountWithin(const DocumentColumns& documents, size_t first, size_t most,
                   uint64_t bytes) {
  if (documents.token_ids.empty()) return most;
  uint64_t left = bytes / kTokenIdBytes;
  size_t count = 0;
  while (count < most && documents.length[first + count] <= left) {
    left -= documents.length[first + count];
    ++count;
  }
  return count;
}

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

void AppendTokens(const DocumentColumns& documents, size_t count, DocumentPlace& place,
                  v1::DocumentBatch& batch) {
  const auto first = documents.length.begin() + static_cast<ptrdiff_t>(place.document);
  place.document += count;
  if (documents.token_ids.empty()) return;
  const size_t tokens =
      std::accumulate(first, first + static_cast<ptrdiff_t>(count), size_t{0});
  AppendTokenIds(std::span(documents.token_ids).subspan(place.token, tokens),
                 *batch.mutable_token_ids());
  place.token += tokens;
}

}  // namespace evenpack::client
