#include "server/core/engine/balanced_release.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "server/core/balance/step_balance.h"
#include "server/core/engine/attention_lean.h"
#include "server/core/engine/job_layout.h"
#include "server/core/engine/placed_one_by_one.h"
#include "server/core/engine/reserve.h"
#include "server/core/engine/waiting.h"
#include "server/core/outlier/length_classes.h"
#include "server/core/outlier/mean_delay.h"
#include "server/core/outlier/novelty.h"
#include "server/core/outlier/queue_thresholds.h"
#include "server/core/packing/release_by_workload.h"

namespace evenpack {
namespace {

constexpr uint64_t kMillion = 1000000;
// Of a global batch, in a full step at least: half of one, and an eighth where the
// stream wants a reserve, or where a step of half of one would be uneven: micro-batches
// would wait for the heaviest by more than a fiftieth of their workload.
constexpr uint64_t kLeastPart = 2;
constexpr uint64_t kLeastPartOfFew = 8;
constexpr int64_t kUnevenPart = 50;

struct TokenBounds {
  uint64_t least = 0;
  uint64_t most = 0;
};

uint64_t TokensOf(const WorkList& documents, const PaddingRule& padding) {
  uint64_t tokens = 0;
  for (const Document* document : documents) {
    tokens += PaddedLength(padding, document->length);
  }
  return tokens;
}

// Of a pool, padding included.
struct PoolTokens {
  uint64_t due = 0;
  uint64_t others = 0;
  // Of the others' longest document.
  uint64_t longest = 0;
};

PoolTokens Measure(const WorkList& due, const WorkList& longest_first,
                   const PaddingRule& padding) {
  PoolTokens tokens = {TokensOf(due, padding), TokensOf(longest_first, padding), 0};
  if (!longest_first.empty()) {
    tokens.longest = PaddedLength(padding, longest_first[0]->length);
  }
  return tokens;
}

// At most `most` of the pool, within `room`; but what is due goes, and one document
// does, however long.
uint64_t MostOf(const PoolTokens& pool, uint64_t most, uint64_t room) {
  return std::min(std::max({most, pool.due, pool.longest}), room);
}

// Steps of equal tokens need documents to choose from, a reserve of a mean global
// batch, which is neither used up nor exceeded for long. It is built by steps of three
// quarters to seven eighths of one; once half of it is there, by about what is missing.
TokenBounds SteadyBounds(uint64_t batch, uint64_t pool, uint64_t spread_ppm) {
  const uint64_t reserve = batch;
  const uint64_t beside_reserve = pool - std::min(pool, reserve);
  const auto spread =
      static_cast<uint64_t>(absl::uint128(batch) * spread_ppm / kMillion);
  if (pool > batch + 2 * reserve) return {batch, batch + spread};
  if (pool >= batch + reserve) {
    return {batch - spread, std::min(batch + spread, beside_reserve)};
  }
  const uint64_t three_quarters = batch - batch / 4;
  const uint64_t beside_more = beside_reserve - std::min(beside_reserve, batch / 10);
  return {
      std::clamp(beside_more, three_quarters, std::max(three_quarters, batch - spread)),
      pool < batch + reserve / 2 ? batch - batch / 8 : batch};
}

// Tokens of a global batch of the stream on average: the document with which one is
// full goes beyond N x L by half its length, and a token is in it the more likely the
// longer it is.
uint64_t MeanBatchTokens(const JobSpec& spec, const LengthSketch& sketch) {
  absl::uint128 twice_beyond = 0;
  if (!sketch.empty()) {
    const std::vector<absl::uint128> rates = sketch.RatesPerToken();
    for (size_t bucket = 0; bucket < rates.size(); ++bucket) {
      const uint64_t middle = LengthSketch::MiddleOf(bucket);
      twice_beyond += rates[bucket] * middle * middle;
    }
  }
  return GlobalBatchTokens(spec) +
         static_cast<uint64_t>(twice_beyond >> (LengthSketch::kRateBits + 1));
}

TokenBounds BoundsOf(const JobSpec& spec, const LengthSketch& sketch,
                     const Capacity& capacity, const BalancedPool& pool) {
  const uint64_t room = uint64_t{capacity.tokens} * spec.micro_batches;
  const auto& spread = spec.policy.balanced.token_spread_ppm;
  if (!spread.has_value()) return {GlobalBatchTokens(spec) / kLeastPart, room};
  const PoolTokens tokens = Measure(pool.due, pool.others, capacity.padding);
  TokenBounds bounds =
      SteadyBounds(MeanBatchTokens(spec, sketch), tokens.due + tokens.others, *spread);
  bounds.most = MostOf(tokens, bounds.most, room);
  return bounds;
}

DelayPrice PriceOf(const JobSpec& spec, const LengthSketch& sketch,
                   const BalancedPool& pool) {
  const absl::int128 token_ps =
      absl::int128(TokenPs(sketch, spec.workload)) * pool.delay_price_ppm / kMillion;
  return {static_cast<int64_t>(token_ps),
          pool.batches_admitted == 0 ? 0 : pool.batches_admitted - 1,
          pool.delay_price_ppm};
}

// Tokens that long documents have of a batch of the stream.
uint64_t LongTokensOfBatch(const JobSpec& spec, const LengthSketch& sketch) {
  if (sketch.empty()) return 0;
  const std::vector<absl::uint128> rates = sketch.RatesPerToken();
  absl::uint128 share = 0;
  for (size_t bucket = 0; bucket < rates.size(); ++bucket) {
    const uint32_t middle = LengthSketch::MiddleOf(bucket);
    if (middle >= LongFrom(spec.window)) share += rates[bucket] * middle;
  }
  return static_cast<uint64_t>((share * GlobalBatchTokens(spec)) >>
                               LengthSketch::kRateBits);
}

// The oldest first, then those nearest to it in length: a step that is heavy for one
// is so for others of its like.
void LikeTheOldest(WorkList& documents) {
  if (documents.empty()) return;
  const Document& oldest = **std::min_element(
      documents.begin(), documents.end(),
      [](const Document* a, const Document* b) { return IsOlder(*a, *b); });
  const auto distance = [&oldest](const Document& document) {
    return std::max(document.length, oldest.length) -
           std::min(document.length, oldest.length);
  };
  std::sort(documents.begin(), documents.end(),
            [&distance](const Document* a, const Document* b) {
              const uint32_t first = distance(*a);
              const uint32_t second = distance(*b);
              return first != second ? first < second : IsOlder(*a, *b);
            });
}

// Long documents go as if they were due, the oldest and its like first, until a step
// has the least share of them that it is to have; no more go than the most.
void HoldLongShare(const JobSpec& spec, const LengthSketch& sketch, BalancedPool& pool,
                   ReleaseTerms& terms) {
  const auto& spread = spec.policy.balanced.long_share_spread_ppm;
  if (!spread.has_value()) return;
  const absl::uint128 share = LongTokensOfBatch(spec, sketch);
  const auto least = static_cast<uint64_t>(share * (kMillion - *spread) / kMillion);
  terms.long_from = LongFrom(spec.window);
  terms.most_long_tokens =
      static_cast<uint64_t>(share * (kMillion + *spread) / kMillion);
  uint64_t tokens = 0;
  for (const Document* document : pool.due) {
    if (document->length >= terms.long_from) tokens += document->length;
  }
  WorkList longs;
  for (const Document* document : pool.others) {
    if (document->length >= terms.long_from) longs.push_back(document);
  }
  LikeTheOldest(longs);
  WorkList forced;
  for (const Document* document : longs) {
    if (tokens >= least) break;
    // One that would take the step above the most waits, unless there would be none.
    if (tokens > 0 && tokens + document->length > terms.most_long_tokens) continue;
    tokens += document->length;
    forced.push_back(document);
  }
  pool.due.insert(pool.due.end(), forced.begin(), forced.end());
  SortOldestFirst(forced);
  std::erase_if(pool.others, [&](const Document* document) {
    return document->length >= terms.long_from &&
           std::binary_search(
               forced.begin(), forced.end(), document,
               [](const Document* a, const Document* b) { return IsOlder(*a, *b); });
  });
}

// A reserve is what batches bring beyond N x L, which is the less the better documents
// fill one up. What has waited for it twice as long as that should take waits no more:
// where all but very short documents fill a batch exactly, only these would, for ever.
uint64_t CountedFrom(const JobSpec& spec, const LengthSketch& sketch, uint64_t reserve,
                     uint64_t batch) {
  const uint64_t beyond = MeanBatchTokens(spec, sketch) - GlobalBatchTokens(spec);
  const uint64_t batches = 2 * (reserve / std::max<uint64_t>(beyond, 1) + 1);
  return batch - std::min(batch, batches);
}

uint64_t FewTokens(const JobSpec& spec) {
  return std::max<uint64_t>(GlobalBatchTokens(spec) / kLeastPartOfFew, 1);
}

// Where the stream wants a reserve, a step has no more tokens than leave one, and few
// where most of a batch is long and waits for its like.
void KeepReserve(const JobSpec& spec, const LengthSketch& sketch,
                 const WorkList& others, ReleaseTerms& terms, BalancedRelease& result) {
  const Reserve reserve = ReserveOf(spec, sketch, terms);
  result.levels += reserve.levels;
  if (reserve.tokens == 0) return;
  const uint64_t batch = GlobalBatchTokens(spec);
  const PoolTokens tokens = Measure(result.due, others, terms.capacity.padding);
  terms.least_tokens = std::min(terms.least_tokens, FewTokens(spec));
  if (tokens.due + tokens.others < batch + reserve.tokens) {
    terms.most_tokens = MostOf(tokens, batch, terms.most_tokens);
    terms.counted_from = CountedFrom(spec, sketch, reserve.tokens, terms.price.batch);
  }
}

// Whether a step of fewer tokens is worth looking for: what a step must have of them
// may be made up only with long documents that have not yet enough of their like to
// fill it. A job that asks for equal tokens or shares has rules of its own.
bool MayHaveFew(const JobSpec& spec, StepKind kind, const Release& release) {
  const BalancedSpec& balanced = spec.policy.balanced;
  return kind == StepKind::kFullBatch && !balanced.token_spread_ppm.has_value() &&
         !balanced.long_share_spread_ppm.has_value() &&
         absl::int128(release.excess_ns) * kUnevenPart > release.workload_ns;
}

void ByWorkload(const JobSpec& spec, const LengthSketch& sketch, uint64_t most_tokens,
                BalancedPool pool, BalancedRelease& result) {
  ReleaseTerms terms = {result.terms};
  HoldLongShare(spec, sketch, pool, terms);
  result.due = std::move(pool.due);
  terms.most_tokens = most_tokens;
  terms.placed_one_by_one = PlacedOneByOne(spec, sketch, pool.others);
  terms.attention_error_64ths = spec.policy.balanced.attention_error_64ths;
  if (pool.kind == StepKind::kFullBatch) {
    KeepReserve(spec, sketch, pool.others, terms, result);
  }
  terms.nothing_follows = pool.kind == StepKind::kDrain;
  const LeaningWorkload workload(spec.workload, ReleaseLean(spec));
  Release release = ReleaseByWorkload(result.due, pool.others, terms, workload);
  if (FewTokens(spec) < terms.least_tokens && MayHaveFew(spec, pool.kind, release)) {
    terms.least_tokens = FewTokens(spec);
    result.terms.least_tokens = terms.least_tokens;
    result.levels += release.levels;
    release = ReleaseByWorkload(result.due, pool.others, terms, workload);
  }
  if (result.due.empty() && release.goes.empty()) {
    // All are long, and the stream's share of such was less: something goes all the
    // same.
    terms.long_from = std::numeric_limits<uint32_t>::max();
    release = ReleaseByWorkload(result.due, pool.others, terms, workload);
  }
  result.goes = std::move(release.goes);
  result.held = std::move(release.held);
  result.levels += release.levels;
  result.packing_lean_256ths = PackingLean(spec, release);
  result.pays = release.tokens > 0 &&
                release.tokens >= GlobalBatchTokens(spec) / kLeastPart &&
                absl::int128(release.excess_ns) * kMillion <=
                    absl::int128(release.workload_ns) * terms.price.share_ppm;
}

// Algorithm 1: a class that has N documents gives up the oldest N; where nothing is
// admitted, or nothing else would go, also one that has fewer.
void ByClass(const JobSpec& spec, const LengthSketch& sketch, StepKind kind,
             const WorkList& others, BalancedRelease& result) {
  const std::vector<uint32_t> thresholds = ChooseClasses(
      sketch, {spec.micro_batches, spec.window, result.terms.price.share_ppm},
      spec.workload);
  std::vector<WorkList> classes(thresholds.size());
  for (const Document* document : others) {
    const std::optional<size_t> queue = QueueOf(thresholds, document->length);
    (queue.has_value() ? classes[*queue] : result.goes).push_back(document);
  }
  const auto release = [&](bool short_classes) {
    for (WorkList& queue : classes) {
      if (queue.size() < spec.micro_batches && !short_classes) continue;
      SortOldestFirst(queue);
      const auto end = queue.begin() + static_cast<ptrdiff_t>(std::min<size_t>(
                                           queue.size(), spec.micro_batches));
      result.goes.insert(result.goes.end(), queue.begin(), end);
      queue.erase(queue.begin(), end);
    }
  };
  release(kind != StepKind::kFullBatch);
  if (result.goes.empty() && result.due.empty()) release(/*short_classes=*/true);
  for (const WorkList& queue : classes) {
    result.held.insert(result.held.end(), queue.begin(), queue.end());
  }
  SortLongestFirst(result.goes);
}

// Lets go the first documents, due ones before others, that come to no more than `most`
// tokens with their padding.
void LimitTokens(uint64_t most, BalancedRelease& result) {
  uint64_t tokens = 0;
  for (WorkList* documents : {&result.due, &result.goes}) {
    WorkList kept;
    for (const Document* document : *documents) {
      const uint64_t size =
          PaddedLength(result.terms.capacity.padding, document->length);
      const bool goes = tokens + size <= most;
      if (goes) tokens += size;
      (goes ? kept : result.held).push_back(document);
    }
    *documents = std::move(kept);
  }
}

}  // namespace

uint32_t DelayPriceOf(const JobSpec& spec, uint64_t mean_delay, uint64_t novelty) {
  const BalancedSpec& balanced = spec.policy.balanced;
  const bool waits_for_balance = !balanced.token_spread_ppm.has_value() &&
                                 !balanced.long_share_spread_ppm.has_value();
  if (!waits_for_balance) {
    return DelayPricePpm(kMeanDelayAtFirst, balanced.delay_price_ppm);
  }
  return PriceWhereNew(novelty, DelayPricePpm(mean_delay, balanced.delay_price_ppm));
}

LengthSketch SketchAfter(const LengthSketch& sketch,
                         std::span<const Document> admitted) {
  LengthSketch after = sketch;
  if (admitted.empty()) return after;
  after.Age();
  for (const Document& document : admitted) after.Add(document.length);
  return after;
}

BalancedRelease ReleaseBalanced(const JobSpec& spec, const LengthSketch& sketch,
                                BalancedPool pool,
                                std::optional<uint64_t> most_tokens) {
  SortLongestFirst(pool.others);
  BalancedRelease result;
  StepTerms& terms = result.terms;
  terms.micro_batches = spec.micro_batches;
  terms.capacity = CapacityOf(spec);
  terms.price = PriceOf(spec, sketch, pool);
  TokenBounds bounds = BoundsOf(spec, sketch, terms.capacity, pool);
  if (most_tokens.has_value()) bounds.most = std::min(bounds.most, *most_tokens);
  // A step without a token would leave a trainer nothing to divide by.
  bounds.least =
      std::clamp<uint64_t>(bounds.least, 1, std::max<uint64_t>(bounds.most, 1));
  terms.least_tokens = bounds.least;
  if (spec.max_delay == 0 && !most_tokens.has_value()) {
    // What waited would be due at once, in a step of its own.
    result.due = std::move(pool.due);
    result.goes = std::move(pool.others);
  } else if (spec.policy.balanced.release == ReleaseMode::kByClass) {
    result.due = std::move(pool.due);
    ByClass(spec, sketch, pool.kind, pool.others, result);
  } else {
    ByWorkload(spec, sketch, bounds.most, std::move(pool), result);
  }
  if (most_tokens.has_value()) LimitTokens(*most_tokens, result);
  return result;
}

bool WaitingMakesAStep(const JobState& state) {
  const BalancedSpec& balanced = state.spec.policy.balanced;
  if (state.spec.policy.kind != PolicyKind::kBalanced ||
      balanced.release == ReleaseMode::kByClass ||
      balanced.token_spread_ppm.has_value() ||
      // Half of a batch of one token is none.
      WaitingTokens(state.waiting) <
          std::max<uint64_t>(GlobalBatchTokens(state.spec) / kLeastPart, 1)) {
    return false;
  }
  BalancedPool pool;
  pool.kind = StepKind::kBacklog;
  pool.batches_admitted = state.position.batches_admitted;
  pool.delay_price_ppm =
      DelayPriceOf(state.spec, state.position.mean_delay, state.position.novelty);
  pool.others = PointTo(state.waiting.left_over);
  return ReleaseBalanced(state.spec, state.position.sketch, std::move(pool)).pays;
}

}  // namespace evenpack
