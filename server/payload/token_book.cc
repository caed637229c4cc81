#include "server/payload/token_book.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace evenpack {

void TokenBook::Put(uint32_t stream, Batch batch) {
  bytes_ += batch->size();
  const uint64_t first = batch->first_sequence();
  streams_[stream][first] = std::move(batch);
}

std::vector<TokenBook::Batch> TokenBook::DropBelow(uint32_t stream, uint64_t sequence) {
  std::vector<Batch> dropped;
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return dropped;
  Batches& batches = found->second;
  while (!batches.empty() && batches.begin()->second->end_sequence() <= sequence) {
    bytes_ -= batches.begin()->second->size();
    dropped.push_back(std::move(batches.begin()->second));
    batches.erase(batches.begin());
  }
  return dropped;
}

TokenBook::Batch TokenBook::From(uint32_t stream, uint64_t first_sequence) const {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return nullptr;
  const auto batch = found->second.find(first_sequence);
  return batch == found->second.end() ? nullptr : batch->second;
}

TokenBook::Batch TokenBook::Find(uint32_t stream, uint64_t sequence) const {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return nullptr;
  const Batches& batches = found->second;
  const auto behind = batches.upper_bound(sequence);
  if (behind == batches.begin()) return nullptr;
  const auto& batch = std::prev(behind)->second;
  return sequence < batch->end_sequence() ? batch : nullptr;
}

std::optional<uint64_t> TokenBook::FirstDifference(uint32_t stream, uint64_t sequence,
                                                   std::span<const uint32_t> lengths,
                                                   std::string_view tokens) const {
  for (const uint32_t length : lengths) {
    const std::string_view given = tokens.substr(0, size_t{length} * kTokenBytes);
    const auto batch = Find(stream, sequence);
    if (batch != nullptr && batch->TokensOf(sequence) != given) return sequence;
    tokens.remove_prefix(given.size());
    ++sequence;
  }
  return std::nullopt;
}

absl::StatusOr<std::shared_ptr<const StepPayload>> TokenBook::Of(
    const Step& step) const {
  std::vector<std::vector<PieceTokens>> micro_batches;
  micro_batches.reserve(step.micro_batches.size());
  for (const MicroBatch& micro_batch : step.micro_batches) {
    std::vector<PieceTokens>& pieces = micro_batches.emplace_back();
    pieces.reserve(micro_batch.documents.size());
    for (const Document& document : micro_batch.documents) {
      auto batch = Find(document.stream, document.sequence);
      if (batch == nullptr) {
        return absl::DataLossError(absl::StrCat("the tokens of document ",
                                                document.sequence, " of stream ",
                                                document.stream, " are missing"));
      }
      const std::string_view tokens =
          batch->TokensOf(document.sequence)
              .substr(size_t{document.offset} * kTokenBytes,
                      size_t{document.length} * kTokenBytes);
      pieces.push_back({std::move(batch), tokens});
    }
  }
  return std::make_shared<const StepPayload>(std::move(micro_batches));
}

}  // namespace evenpack
