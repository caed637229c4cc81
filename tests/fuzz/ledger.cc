#include "tests/fuzz/ledger.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "server/core/engine/waiting.h"
#include "tests/fuzz/require.h"

namespace evenpack::fuzz {
namespace {

using Identity = std::pair<uint32_t, uint64_t>;

std::string NameOf(const Identity& identity) {
  return absl::StrCat("document ", identity.second, " of stream ", identity.first);
}

// Pieces of each document by where they begin.
class Places {
 public:
  void Add(const Document& piece) {
    const Identity identity = {piece.stream, piece.sequence};
    Require(pieces_[identity].emplace(piece.offset, piece.length).second,
            "no piece is in two places", NameOf(identity));
  }
  void Add(const Step& step) {
    for (const MicroBatch& micro_batch : step.micro_batches) {
      for (const Document& document : micro_batch.documents) Add(document);
    }
  }

  // But for those that the state skips, of which pieces may be missing.
  void RequireWhole(const std::map<Identity, uint32_t>& accepted,
                    const JobState& state) const {
    for (const auto& [identity, pieces] : pieces_) {
      Require(accepted.contains(identity), "documents are those accepted",
              NameOf(identity));
    }
    for (const auto& [identity, length] : accepted) {
      if (IsIn(state.streams[identity.first].skipped, identity.second)) continue;
      const auto found = pieces_.find(identity);
      Require(found != pieces_.end(), "no document is lost", NameOf(identity));
      uint64_t end = 0;
      for (const auto& [offset, tokens] : found->second) {
        Require(offset == end, "pieces follow one another", NameOf(identity));
        end += tokens;
      }
      Require(end == length, "pieces make up their document", NameOf(identity));
    }
  }

 private:
  std::map<Identity, std::map<uint32_t, uint32_t>> pieces_;
};

}  // namespace

void Ledger::Accept(const std::vector<Document>& documents) {
  for (const Document& document : documents) {
    const Identity identity = {document.stream, document.sequence};
    Require(accepted_.emplace(identity, document.length).second,
            "no document is accepted twice", NameOf(identity));
  }
}

void Ledger::Emit(const Step& step, std::shared_ptr<const JobSpec> spec) {
  Require(step.index == emitted_.size(), "steps have no gaps",
          absl::StrCat(step.index));
  emitted_.push_back({step, std::move(spec)});
}

void Ledger::Withdraw(uint64_t from) {
  if (from < emitted_.size()) emitted_.resize(from);
}

void Ledger::RequireExactlyOnce(const JobState& state) const {
  Places places;
  for (const Emitted& emitted : emitted_) places.Add(emitted.step);
  ForEachWaiting(state.waiting,
                 [&places](const Document& document) { places.Add(document); });
  for (const StreamState& stream : state.streams) {
    for (const Document& document : stream.buffer.view()) places.Add(document);
  }
  places.RequireWhole(accepted_, state);
}

}  // namespace evenpack::fuzz
