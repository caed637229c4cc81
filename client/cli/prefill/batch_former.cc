#include "client/cli/prefill/batch_former.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/numeric/int128.h"
#include "server/core/engine/job_spec.h"
#include "server/core/packing/balanced.h"
#include "server/core/packing/load_tree.h"
#include "server/core/packing/trim.h"
#include "server/core/packing/work_list.h"

namespace evenpack {
namespace {

// Of a nanosecond.
constexpr int64_t kMillionthsPerPs = 1000;
// What a batch's time is worth to have its prompts a batch earlier, in millionths.
constexpr int64_t kDelayPricePpm = 40'000;

}  // namespace

// The batch as it fills.
class BatchFormer::Room {
 public:
  explicit Room(const BatchLimits& limits)
      : max_length_(limits.max_length),
        left_(uint64_t{limits.replicas} * limits.window),
        tokens_(limits.replicas),
        batch_(limits.replicas) {}

  bool BatchHas(uint32_t length) const { return empty_ || length <= left_; }
  bool ReplicaHas(size_t replica, uint32_t length) const {
    return tokens_.LoadOf(replica) + length <= max_length_;
  }
  size_t FewestTokens() const { return tokens_.Least(); }
  // The most that still fits somewhere.
  uint32_t Longest() const {
    const uint64_t replica =
        max_length_ - static_cast<uint64_t>(tokens_.LoadOf(FewestTokens()));
    return static_cast<uint32_t>(empty_ ? replica : std::min(replica, left_));
  }

  void Put(size_t replica, uint32_t request, uint32_t length) {
    batch_[replica].push_back(request);
    tokens_.Set(replica, tokens_.LoadOf(replica) + length);
    left_ -= std::min<uint64_t>(left_, length);
    empty_ = false;
  }

  Batch TakeBatch() && { return std::move(batch_); }

 private:
  const uint32_t max_length_;
  uint64_t left_;
  LoadTree tokens_;
  Batch batch_;
  bool empty_ = true;
};

BatchFormer::BatchFormer(Discipline discipline, const BatchLimits& limits,
                         const WorkloadTable& workload)
    : discipline_(discipline), limits_(limits), workload_(workload) {}

Batch BatchFormer::Form(WaitingRequests& waiting, size_t overdue) {
  switch (discipline_) {
    case Discipline::kFirstCome:
    case Discipline::kFewestTokens:
      return InOrderOfArrival(waiting);
    case Discipline::kLongestFirst:
      return LongestFirst(waiting, overdue);
    case Discipline::kBalanced:
      break;
  }
  return Balanced(waiting, overdue);
}

Batch BatchFormer::InOrderOfArrival(WaitingRequests& waiting) {
  Room room(limits_);
  for (const uint32_t request : waiting.by_arrival()) {
    const uint32_t length = waiting.LengthOf(request);
    if (!room.BatchHas(length)) break;
    size_t replica = room.FewestTokens();
    if (!room.ReplicaHas(replica, length)) break;
    if (discipline_ == Discipline::kFirstCome) {
      // One at least has room.
      while (!room.ReplicaHas(next_replica_, length)) {
        next_replica_ = (next_replica_ + 1) % limits_.replicas;
      }
      replica = next_replica_;
      next_replica_ = (next_replica_ + 1) % limits_.replicas;
    }
    room.Put(replica, request, length);
  }
  Batch batch = std::move(room).TakeBatch();
  for (const std::vector<uint32_t>& replica : batch) {
    for (const uint32_t request : replica) waiting.Remove(request);
  }
  return batch;
}

Batch BatchFormer::LongestFirst(WaitingRequests& waiting, size_t overdue) const {
  Room room(limits_);
  const auto place = [&](uint32_t request) {
    room.Put(room.FewestTokens(), request, waiting.LengthOf(request));
    waiting.Remove(request);
  };
  const std::vector<uint32_t> oldest(
      waiting.by_arrival().begin(),
      std::next(waiting.by_arrival().begin(), static_cast<ptrdiff_t>(overdue)));
  for (const uint32_t request : oldest) {
    if (waiting.LengthOf(request) <= room.Longest()) place(request);
  }
  while (const std::optional<uint32_t> next = waiting.LongestUpTo(room.Longest())) {
    place(*next);
  }
  return std::move(room).TakeBatch();
}

Batch BatchFormer::Balanced(WaitingRequests& waiting, size_t overdue) {
  first_batch_.resize(size_t{*waiting.by_arrival().rbegin()} + 1, batches_);
  const std::vector<Document> documents = OldestOfABatch(waiting);
  const std::span<const Document> all = documents;
  const size_t first = std::min(overdue, all.size());
  const WorkList due = PointTo(all.first(first));
  WorkList others = PointTo(all.subspan(first));
  SortLongestFirst(others);
  const ReleaseTerms terms = TermsOf(all);
  const Release release = ReleaseByWorkload(due, others, terms, workload_);
  const BalancedPacking packed =
      PackBalanced(due, release.goes, terms, BalancedSpec().finish, workload_);
  ++batches_;
  Batch batch(limits_.replicas);
  for (size_t replica = 0; replica < batch.size(); ++replica) {
    for (const Document& document : packed.packing.micro_batches[replica].documents) {
      batch[replica].push_back(static_cast<uint32_t>(document.sequence));
      waiting.Remove(batch[replica].back());
    }
  }
  return batch;
}

std::vector<Document> BatchFormer::OldestOfABatch(
    const WaitingRequests& waiting) const {
  std::vector<Document> documents;
  uint64_t left = uint64_t{limits_.replicas} * limits_.window;
  for (const uint32_t request : waiting.by_arrival()) {
    const uint32_t length = waiting.LengthOf(request);
    if (length > left && !documents.empty()) break;
    left -= std::min<uint64_t>(left, length);
    Document document;
    document.sequence = request;
    document.order = request;
    document.batch = first_batch_[request];
    document.length = length;
    document.document_length = length;
    documents.push_back(document);
  }
  return documents;
}

ReleaseTerms BatchFormer::TermsOf(std::span<const Document> documents) const {
  uint64_t tokens = 0;
  absl::int128 work_ns = 0;
  for (const Document& document : documents) {
    tokens += document.length;
    work_ns += workload_.AttentionNs(document.length);
    work_ns += workload_.LinearNs(document.length);
  }
  ReleaseTerms terms;
  terms.micro_batches = limits_.replicas;
  terms.capacity = {.tokens = limits_.max_length};
  terms.most_tokens = tokens;
  terms.least_tokens = tokens - tokens / 2;
  const absl::int128 price_ps = work_ns * kDelayPricePpm / kMillionthsPerPs / tokens;
  terms.price = {static_cast<int64_t>(price_ps), batches_};
  terms.placed_one_by_one = 16 * terms.micro_batches + 64;
  terms.attention_error_64ths = BalancedSpec().attention_error_64ths;
  return terms;
}

}  // namespace evenpack
