// A job's tokens, where its payload travels by value: what the job asks of them.
#ifndef EVENPACK_SERVER_CONTROL_JOB_TOKENS_H_
#define EVENPACK_SERVER_CONTROL_JOB_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/core/engine/command.h"
#include "server/core/engine/event.h"
#include "server/core/engine/job_state.h"
#include "server/core/engine/sequence_ranges.h"
#include "server/payload/payload_root.h"
#include "server/payload/token_book.h"
#include "server/store/state_store.h"

namespace evenpack {

// Not thread-safe. Without effect for a job whose payload travels by reference.
class JobTokens {
 public:
  // Whether a job of this spec has its payload by value; null: none has.
  using Travel = std::function<bool(const JobSpec&)>;

  // `stored`: whether what is written is there for Load (StateStore::Keeps).
  JobTokens(std::string job, Travel travel, bool stored)
      : job_(std::move(job)), travel_in_(std::move(travel)), stored_(stored) {}

  // Those of the rows whose tokens are in a file, and are here already; null for the
  // others.
  std::vector<TokenBook::Batch> HeldOf(std::span<const StoredTokens> stored) const;
  // What the store has, each row of which is freed once it was read. `held`: as HeldOf,
  // whose files are not read. Errors as TokenBatch::FromBytes. From any thread.
  static absl::StatusOr<TokenBook> Read(std::vector<StoredTokens> stored,
                                        std::span<const TokenBook::Batch> held,
                                        const PayloadRoot& root);
  // That is what the job has, which has this spec.
  void Load(const JobSpec& spec, TokenBook book);
  // The job has this spec from here on.
  void Reshape(const JobSpec& spec) { travel_ = TravelIn(spec); }

  // FAILED_PRECONDITION where the job can't take an event for its tokens' sake: a
  // checkpoint, which has none, or a spec that has them travel otherwise.
  absl::Status Check(const Event& event) const;
  // INVALID_ARGUMENT naming token_ids: none where they are needed, or as many as the
  // lengths are not, or some where none travel.
  absl::Status Check(const Ingest& ingest) const;
  // INVALID_ARGUMENT naming token_file, where no tokens travel.
  absl::Status CheckFile() const;
  // ABORTED, as of a document with another length, where one of the first `known`,
  // which the stream has already, is held with other tokens.
  absl::Status CheckResent(const Ingest& ingest, uint32_t stream, size_t known) const;
  // The last `documents` of those were accepted by the stream, all of whose `skipped`
  // ones no step will have.
  void Accept(const Ingest& ingest, uint32_t stream, size_t documents,
              const SequenceRanges& skipped, std::vector<StoreWrite>& writes);
  // Null where none travel. DATA_LOSS as TokenBook.
  absl::StatusOr<std::shared_ptr<const StepPayload>> Of(const Step& step) const;
  // Documents that had come are skipped now.
  void Skip() { oldest_step_.reset(); }
  // Drops what no document of the state needs, where steps were let go since the last
  // call, or documents skipped.
  void LetGo(const JobState& state, std::vector<StoreWrite>& writes);
  // What was dropped of files is here until a commit has dropped it, as a failed one
  // would bring it back: how many batches ever were, or none where none is here.
  std::optional<uint64_t> Dropped() const;
  // So many stay dropped. They are the caller's to free, under no lock.
  using Batches = std::deque<std::pair<uint32_t, TokenBook::Batch>>;
  Batches Forget(uint64_t dropped);

  // Drops all, of a job that is no more.
  void Clear();

  uint64_t bytes() const { return book_.bytes(); }

 private:
  bool TravelIn(const JobSpec& spec) const {
    return travel_in_ != nullptr && travel_in_(spec);
  }

  // What the row is of, where its tokens are in a file and here.
  TokenBook::Batch HeldAs(const StoredTokens& row) const;

  const std::string job_;
  const Travel travel_in_;
  const bool stored_;
  bool travel_ = false;
  std::optional<uint64_t> oldest_step_ = 0;
  TokenBook book_;
  // By their streams, oldest first, behind `forgotten_` others.
  Batches dropped_;
  uint64_t forgotten_ = 0;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CONTROL_JOB_TOKENS_H_
