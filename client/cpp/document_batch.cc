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

void AppendPlaces(const TokenFileColumns& file, size_t first, size_t count,
                  v1::TokenFile& held) {
  held.set_path(file.path);
  held.set_token_bytes(file.token_bytes);
  const auto from = file.offset.begin() + static_cast<ptrdiff_t>(first);
  held.mutable_offset()->Add(from, from + static_cast<ptrdiff_t>(count));
}

// How many documents have at most `left` tokens together.
size_t CountTokensWithin(const DocumentColumns& documents, size_t first, size_t most,
                         uint64_t left) {
  size_t count = 0;
  while (count < most && documents.length[first + count] <= left) {
    left -= documents.length[first + count];
    ++count;
  }
  return count;
}

}  // namespace

size_t CountWithin(const DocumentColumns& documents, size_t first, size_t most,
                   uint64_t bytes) {
  if (documents.token_ids.empty()) return most;
  return CountTokensWithin(documents, first, most, bytes / kTokenIdBytes);
}

size_t CountReadWithin(const DocumentColumns& documents, size_t first, size_t most,
                       uint64_t tokens) {
  if (documents.token_file.offset.empty()) return most;
  return CountTokensWithin(documents, first, most, tokens);
}

uint64_t TokensToRead(const DocumentColumns& documents, size_t first, size_t count) {
  if (documents.token_file.offset.empty()) return 0;
  const auto from = documents.length.begin() + static_cast<ptrdiff_t>(first);
  return std::accumulate(from, from + static_cast<ptrdiff_t>(count), uint64_t{0});
}

bool FitTokenFile(const DocumentColumns& documents, const v1::DocumentBatch& batch) {
  if (batch.length_size() == 0) return true;
  const TokenFileColumns& file = documents.token_file;
  if (!batch.has_token_file()) return file.offset.empty();
  return !file.offset.empty() && batch.token_file().path() == file.path &&
         batch.token_file().token_bytes() == file.token_bytes;
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
  const size_t begin = place.document;
  place.document += count;
  if (!documents.token_file.offset.empty()) {
    AppendPlaces(documents.token_file, begin, count, *batch.mutable_token_file());
  }
  if (documents.token_ids.empty()) return;
  const size_t tokens =
      std::accumulate(first, first + static_cast<ptrdiff_t>(count), size_t{0});
  AppendTokenIds(std::span(documents.token_ids).subspan(place.token, tokens),
                 *batch.mutable_token_ids());
  place.token += tokens;
}

}  // namespace evenpack::client
