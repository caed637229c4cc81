#include "server/control/job_tokens.h"

#include <memory>
#include <numeric>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/control/first_needed.h"
#include "server/core/document/invalid_field.h"
#include "server/core/engine/state_codec.h"
#include "server/runtime/status_detail.h"

namespace evenpack {
namespace {

constexpr char kNoneByReference[] =
    "none, where the job's payload travels by reference";

}  // namespace

std::vector<TokenBook::Batch> JobTokens::HeldOf(
    std::span<const StoredTokens> stored) const {
  std::vector<TokenBook::Batch> held;
  held.reserve(stored.size());
  for (const StoredTokens& row : stored) held.push_back(HeldAs(row));
  return held;
}

absl::StatusOr<TokenBook> JobTokens::Read(std::vector<StoredTokens> stored,
                                          std::span<const TokenBook::Batch> held,
                                          const PayloadRoot& root) {
  TokenBook book;
  for (size_t i = 0; i < stored.size(); ++i) {
    const StoredTokens row = std::move(stored[i]);
    TokenBook::Batch batch = held[i];
    if (batch == nullptr) {
      absl::StatusOr<TokenBatch> read = TokenBatch::FromBytes(
          row.first_sequence, row.bytes,
          [&root](const TokenFile& file, std::span<const uint32_t> lengths) {
            return root.Read(file, lengths);
          });
      if (!read.ok()) return read.status();
      batch = std::make_shared<const TokenBatch>(*std::move(read));
    }
    book.Put(row.stream, std::move(batch));
  }
  return book;
}

void JobTokens::Load(const JobSpec& spec, TokenBook book) {
  travel_ = TravelIn(spec);
  oldest_step_ = 0;
  book_ = std::move(book);
  forgotten_ += dropped_.size();
  dropped_.clear();
}

TokenBook::Batch JobTokens::HeldAs(const StoredTokens& row) const {
  const auto is_it = [&row](const TokenBook::Batch& batch) {
    return batch != nullptr && batch->in_file() &&
           batch->first_sequence() == row.first_sequence && batch->Bytes() == row.bytes;
  };
  TokenBook::Batch batch = book_.From(row.stream, row.first_sequence);
  if (is_it(batch)) return batch;
  for (const auto& [stream, dropped] : dropped_) {
    if (stream == row.stream && is_it(dropped)) return dropped;
  }
  return nullptr;
}

absl::Status JobTokens::Check(const Event& event) const {
  const auto refused = [](absl::string_view what, absl::string_view accepted) {
    return WithDetail(absl::FailedPreconditionError(absl::StrCat(
                          what,
                          " is not accepted where the payload travels by value; "
                          "accepted: ",
                          accepted)),
                      {"PAYLOAD_BY_VALUE", {}});
  };
  if (const auto* restored = std::get_if<JobRestored>(&event)) {
    const absl::StatusOr<JobState> state = DecodeState(restored->state);
    if (!state.ok()) return state.status();
    if (!travel_ && !TravelIn(state->spec)) {
      return absl::OkStatus();
    }
    return refused("checkpoint: one, which has no tokens,", "a step that is kept");
  }
  const auto* updated = std::get_if<JobUpdated>(&event);
  if (updated == nullptr || TravelIn(updated->spec) == travel_) {
    return absl::OkStatus();
  }
  return refused("spec.payload_mode: another than the job was created with",
                 "the one that it has");
}

absl::Status JobTokens::CheckFile() const {
  if (travel_) return absl::OkStatus();
  return InvalidField("token_file", "one", kNoneByReference);
}

absl::Status JobTokens::Check(const Ingest& ingest) const {
  if (!travel_ && ingest.token_ids.empty()) return absl::OkStatus();
  const std::string given = absl::StrCat(ingest.token_ids.size(), " bytes");
  if (!travel_) {
    return InvalidField("token_ids", given, kNoneByReference);
  }
  const uint64_t tokens =
      std::accumulate(ingest.lengths.begin(), ingest.lengths.end(), uint64_t{0});
  if (ingest.token_ids.size() == tokens * kTokenBytes) return absl::OkStatus();
  return InvalidField("token_ids", given,
                      absl::StrCat(tokens * kTokenBytes, " bytes, ", kTokenBytes,
                                   " for each token of the documents"));
}

absl::Status JobTokens::CheckResent(const Ingest& ingest, uint32_t stream,
                                    size_t known) const {
  if (!travel_ || known == 0) return absl::OkStatus();
  const std::optional<uint64_t> differs =
      book_.FirstDifference(stream, ingest.first_sequence,
                            std::span(ingest.lengths).first(known), ingest.token_ids);
  if (!differs.has_value()) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat(
      "sequence ", *differs, " of stream '", ingest.stream,
      "' was accepted with other token ids than are sent now; accepted: the same "
      "documents again, or new ones"));
}

void JobTokens::Accept(const Ingest& ingest, uint32_t stream, size_t documents,
                       const SequenceRanges& skipped, std::vector<StoreWrite>& writes) {
  if (!travel_ || documents == 0) return;
  const size_t known = ingest.lengths.size() - documents;
  const uint64_t first = ingest.first_sequence + known;
  // Nothing of it is buffered, so that the producer isn't held back either.
  if (NextOutside(skipped, first) >= first + documents) return;
  const std::span<const uint32_t> lengths = std::span(ingest.lengths).subspan(known);
  const uint64_t tokens = std::accumulate(lengths.begin(), lengths.end(), uint64_t{0});
  std::optional<TokenFile> file = ingest.token_file;
  if (file.has_value()) {
    const auto begin = file->offsets.begin();
    file->offsets.erase(begin, begin + static_cast<ptrdiff_t>(known));
  }
  TokenBatch batch(
      first, lengths,
      ingest.token_ids.substr(ingest.token_ids.size() - tokens * kTokenBytes),
      std::move(file));
  if (stored_) writes.emplace_back(PutTokens{job_, stream, first, batch.Bytes()});
  book_.Put(stream, std::make_shared<const TokenBatch>(std::move(batch)));
}

absl::StatusOr<std::shared_ptr<const StepPayload>> JobTokens::Of(
    const Step& step) const {
  if (!travel_) return nullptr;
  return book_.Of(step);
}

void JobTokens::LetGo(const JobState& state, std::vector<StoreWrite>& writes) {
  if (!travel_ || state.checkpoints.front() == oldest_step_) return;
  oldest_step_ = state.checkpoints.front();
  const std::vector<uint64_t> first = FirstNeeded(state);
  for (uint32_t stream = 0; stream < first.size(); ++stream) {
    const std::vector<TokenBook::Batch> dropped =
        book_.DropBelow(stream, first[stream]);
    if (dropped.empty()) continue;
    writes.emplace_back(DropTokens{job_, stream, dropped.back()->first_sequence() + 1});
    for (const TokenBook::Batch& batch : dropped) {
      if (stored_ && batch->in_file()) dropped_.emplace_back(stream, batch);
    }
  }
}

std::optional<uint64_t> JobTokens::Dropped() const {
  if (dropped_.empty()) return std::nullopt;
  return forgotten_ + dropped_.size();
}

JobTokens::Batches JobTokens::Forget(uint64_t dropped) {
  Batches forgotten;
  for (; forgotten_ < dropped && !dropped_.empty(); ++forgotten_) {
    forgotten.push_back(std::move(dropped_.front()));
    dropped_.pop_front();
  }
  return forgotten;
}

void JobTokens::Clear() {
  book_ = TokenBook();
  forgotten_ += dropped_.size();
  dropped_.clear();
}

}  // namespace evenpack
