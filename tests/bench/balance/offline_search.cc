#include "tests/bench/balance/offline_search.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace evenpack {
namespace {

// Of the mean load of a micro-batch. The first moves single documents freely, at the
// last a thousandth of a percent decides.
constexpr double kFirstTemperature = 2e-3;
constexpr double kLastTemperature = 1e-5;
// The annealing is done so many times over, each from the best placement so far.
constexpr uint64_t kRounds = 4;
constexpr uint64_t kOperationsPerDeal = 256;

}  // namespace

OfflineSearch::OfflineSearch(std::vector<PlacedDocument> documents,
                             const OfflineTerms& terms, const WorkloadTable& workload,
                             uint64_t seed)
    : terms_(terms),
      workload_(workload),
      generator_(seed),
      documents_(std::move(documents)),
      places_(documents_.size()) {
  attention_ns_.reserve(documents_.size());
  for (const PlacedDocument& document : documents_) {
    attention_ns_.push_back(workload.AttentionNs(document.length));
  }
  Rebuild();
}

int64_t OfflineSearch::LoadOf(const Bin& bin) const {
  return bin.attention_ns + workload_.LinearNs(bin.tokens);
}

int64_t OfflineSearch::HeaviestOf(size_t step) const {
  const auto first =
      loads_.begin() + static_cast<ptrdiff_t>(step * terms_.micro_batches);
  return *std::max_element(first, first + static_cast<ptrdiff_t>(terms_.micro_batches));
}

bool OfflineSearch::MayBeIn(uint32_t document, size_t step) const {
  return documents_[document].first_step <= step &&
         step <= documents_[document].last_step;
}

bool OfflineSearch::MayBeIn(const Bin& bin, size_t step) const {
  return std::all_of(bin.documents.begin(), bin.documents.end(),
                     [&](uint32_t document) { return MayBeIn(document, step); });
}

bool OfflineSearch::Accepts(int64_t change) {
  if (change <= 0) return true;
  const double share = static_cast<double>(generator_() >> 11) * 0x1p-53;
  return share < std::exp(-static_cast<double>(change) / temperature_);
}

void OfflineSearch::Add(uint32_t document, size_t bin) {
  Bin& to = bins_[bin];
  documents_[document].micro_batch = static_cast<uint32_t>(bin);
  places_[document] = static_cast<uint32_t>(to.documents.size());
  to.documents.push_back(document);
  to.attention_ns += attention_ns_[document];
  to.tokens += documents_[document].length;
}

void OfflineSearch::Remove(uint32_t document) {
  Bin& from = bins_[documents_[document].micro_batch];
  const uint32_t last = from.documents.back();
  from.documents[places_[document]] = last;
  places_[last] = places_[document];
  from.documents.pop_back();
  from.attention_ns -= attention_ns_[document];
  from.tokens -= documents_[document].length;
}

void OfflineSearch::Rebuild() {
  bins_.assign(terms_.steps * terms_.micro_batches, Bin());
  loads_.assign(bins_.size(), 0);
  for (uint32_t i = 0; i < documents_.size(); ++i) Add(i, documents_[i].micro_batch);
  for (size_t bin = 0; bin < bins_.size(); ++bin) SetLoad(bin);
  energy_ = SumOfHeaviest();
}

size_t OfflineSearch::DrawBin() {
  const size_t bin = Draw(bins_.size());
  if (Draw(2) == 0) return bin;
  const auto first =
      loads_.begin() + static_cast<ptrdiff_t>(StepOf(bin) * terms_.micro_batches);
  return static_cast<size_t>(
      std::max_element(first, first + static_cast<ptrdiff_t>(terms_.micro_batches)) -
      loads_.begin());
}

uint32_t OfflineSearch::DrawDocument(const Bin& bin) {
  uint32_t drawn = bin.documents[Draw(bin.documents.size())];
  if (Draw(2) == 0) return drawn;
  for (int i = 0; i < 3; ++i) {
    const uint32_t other = bin.documents[Draw(bin.documents.size())];
    if (documents_[other].length > documents_[drawn].length) drawn = other;
  }
  return drawn;
}

size_t OfflineSearch::DrawOtherStep(size_t step) {
  // As far as documents of this step may be, give or take.
  const Bin& bin = bins_[step * terms_.micro_batches + Draw(terms_.micro_batches)];
  if (bin.documents.empty()) return step;
  const PlacedDocument& document = documents_[DrawDocument(bin)];
  return document.first_step + Draw(document.last_step - document.first_step + 1);
}

template <typename Undo>
void OfflineSearch::KeepOr(int64_t before, size_t bin, size_t other, Undo undo) {
  SetLoad(bin);
  SetLoad(other);
  const size_t a = StepOf(bin);
  const size_t b = StepOf(other);
  const int64_t after = HeaviestOf(a) + (a == b ? 0 : HeaviestOf(b));
  if (Accepts(after - before)) {
    energy_ += after - before;
    return;
  }
  undo();
  SetLoad(bin);
  SetLoad(other);
}

void OfflineSearch::TryMove() {
  const size_t from = DrawBin();
  if (bins_[from].documents.empty()) return;
  const uint32_t document = DrawDocument(bins_[from]);
  const PlacedDocument& placed = documents_[document];
  const size_t step =
      placed.first_step + Draw(placed.last_step - placed.first_step + 1);
  const size_t to = step * terms_.micro_batches + Draw(terms_.micro_batches);
  if (to == from || bins_[to].tokens + placed.length > terms_.max_length) return;
  const size_t home = StepOf(from);
  const int64_t before = HeaviestOf(home) + (home == step ? 0 : HeaviestOf(step));
  Remove(document);
  Add(document, to);
  KeepOr(before, from, to, [&] {
    Remove(document);
    Add(document, from);
  });
}

void OfflineSearch::TrySwap() {
  const size_t from = DrawBin();
  if (bins_[from].documents.empty()) return;
  const uint32_t one = DrawDocument(bins_[from]);
  const PlacedDocument& placed = documents_[one];
  const size_t step =
      placed.first_step + Draw(placed.last_step - placed.first_step + 1);
  const size_t to = step * terms_.micro_batches + Draw(terms_.micro_batches);
  if (to == from || bins_[to].documents.empty()) return;
  const size_t home = StepOf(from);
  const uint32_t two = DrawDocument(bins_[to]);
  const uint64_t length = placed.length;
  const uint64_t other = documents_[two].length;
  if (!MayBeIn(two, home) || bins_[from].tokens - length + other > terms_.max_length ||
      bins_[to].tokens - other + length > terms_.max_length) {
    return;
  }
  const int64_t before = HeaviestOf(home) + (home == step ? 0 : HeaviestOf(step));
  const auto exchange = [&](size_t first, size_t second) {
    Remove(one);
    Remove(two);
    Add(one, first);
    Add(two, second);
  };
  exchange(to, from);
  KeepOr(before, from, to, [&] { exchange(from, to); });
}

void OfflineSearch::TrySwapBins() {
  const size_t one = DrawBin();
  const size_t home = StepOf(one);
  const size_t step = DrawOtherStep(home);
  if (step == home) return;
  const size_t two = step * terms_.micro_batches + Draw(terms_.micro_batches);
  const int64_t before = HeaviestOf(home) + HeaviestOf(step);
  std::swap(loads_[one], loads_[two]);
  const int64_t change = HeaviestOf(home) + HeaviestOf(step) - before;
  if (!Accepts(change) || !MayBeIn(bins_[one], step) || !MayBeIn(bins_[two], home)) {
    std::swap(loads_[one], loads_[two]);
    return;
  }
  std::swap(bins_[one], bins_[two]);
  for (const size_t bin : {one, two}) {
    for (const uint32_t document : bins_[bin].documents) {
      documents_[document].micro_batch = static_cast<uint32_t>(bin);
    }
  }
  energy_ += change;
}

// Where it lifts the heaviest of its step least; of those, where most is missing.
size_t OfflineSearch::BestBin(uint32_t document, bool in_a, bool in_b, size_t a,
                              size_t b) const {
  size_t best = bins_.size();
  std::pair<int64_t, int64_t> least = {0, 0};
  for (const auto& [step, allowed] : {std::pair(a, in_a), std::pair(b, in_b)}) {
    if (!allowed) continue;
    const int64_t heaviest = HeaviestOf(step);
    for (size_t i = 0; i < terms_.micro_batches; ++i) {
      const size_t bin = step * terms_.micro_batches + i;
      if (bins_[bin].tokens + documents_[document].length > terms_.max_length) continue;
      const int64_t load = loads_[bin] + attention_ns_[document] +
                           workload_.LinearNs(documents_[document].length);
      const std::pair cost(std::max<int64_t>(0, load - heaviest), load - heaviest);
      if (best != bins_.size() && cost >= least) continue;
      best = bin;
      least = cost;
    }
  }
  return best;
}

// Longest first; some of the longest to one of the steps, as many to the other, the
// rest where they fit best.
void OfflineSearch::Deal(std::vector<uint32_t> pool, size_t a, size_t b) {
  std::sort(pool.begin(), pool.end(), [this](uint32_t one, uint32_t two) {
    return std::tuple(documents_[two].length, one) <
           std::tuple(documents_[one].length, two);
  });
  const size_t to_a = Draw(2 * terms_.micro_batches + 1);
  const size_t to_b = to_a + Draw(2 * terms_.micro_batches + 1);
  for (size_t i = 0; i < pool.size(); ++i) {
    const bool in_a = MayBeIn(pool[i], a);
    const bool in_b = MayBeIn(pool[i], b);
    size_t bin = bins_.size();
    if (i < to_a && in_a) bin = BestBin(pool[i], true, false, a, b);
    if (i >= to_a && i < to_b && in_b) bin = BestBin(pool[i], false, true, a, b);
    if (bin == bins_.size()) bin = BestBin(pool[i], in_a, in_b, a, b);
    // Nowhere: left out, for the caller to see.
    if (bin == bins_.size()) return;
    Add(pool[i], bin);
    SetLoad(bin);
  }
}

void OfflineSearch::TryDealAnew() {
  const size_t a = StepOf(DrawBin());
  const size_t b = DrawOtherStep(a);
  if (a == b) return;
  const int64_t before = HeaviestOf(a) + HeaviestOf(b);
  std::vector<uint32_t> pool;
  std::vector<std::pair<size_t, Bin>> saved;
  for (const size_t step : {a, b}) {
    for (size_t i = 0; i < terms_.micro_batches; ++i) {
      const size_t bin = step * terms_.micro_batches + i;
      pool.insert(pool.end(), bins_[bin].documents.begin(), bins_[bin].documents.end());
      saved.emplace_back(bin, std::exchange(bins_[bin], Bin()));
      SetLoad(bin);
    }
  }
  const bool in_turn = Draw(2) == 0;
  Deal(pool, in_turn ? a : b, in_turn ? b : a);
  size_t placed = 0;
  for (const auto& [bin, was] : saved) placed += bins_[bin].documents.size();
  const int64_t change = HeaviestOf(a) + HeaviestOf(b) - before;
  if (placed == pool.size() && Accepts(change)) {
    energy_ += change;
    return;
  }
  for (auto& [bin, was] : saved) {
    bins_[bin] = Bin();
    for (const uint32_t document : was.documents) Add(document, bin);
    SetLoad(bin);
  }
}

void OfflineSearch::TryOne(uint64_t index) {
  if (index % kOperationsPerDeal == 0) {
    TryDealAnew();
    return;
  }
  const uint64_t kind = Draw(8);
  if (kind < 3) TryMove();
  if (kind >= 3 && kind < 7) TrySwap();
  if (kind == 7) TrySwapBins();
}

void OfflineSearch::Run(uint64_t operations) {
  const double mean = static_cast<double>(energy_) / static_cast<double>(terms_.steps);
  const uint64_t per_round = operations / kRounds;
  std::vector<PlacedDocument> best = documents_;
  int64_t least = energy_;
  for (uint64_t round = 0; round < kRounds; ++round) {
    for (uint64_t i = 0; i < per_round; ++i) {
      const double done = static_cast<double>(i) / static_cast<double>(per_round);
      if (i % 1024 == 0) {
        temperature_ = mean * kFirstTemperature *
                       std::pow(kLastTemperature / kFirstTemperature, done);
      }
      TryOne(i);
    }
    // At a round's end alone, since a copy is of all documents.
    if (energy_ < least) {
      least = energy_;
      best = documents_;
    }
    documents_ = best;
    Rebuild();
  }
}

int64_t OfflineSearch::SumOfHeaviest() const {
  std::vector<Bin> bins(bins_.size());
  for (size_t i = 0; i < documents_.size(); ++i) {
    Bin& bin = bins[documents_[i].micro_batch];
    bin.attention_ns += attention_ns_[i];
    bin.tokens += documents_[i].length;
  }
  int64_t sum = 0;
  for (size_t step = 0; step < terms_.steps; ++step) {
    int64_t heaviest = 0;
    for (size_t i = 0; i < terms_.micro_batches; ++i) {
      heaviest = std::max(heaviest, LoadOf(bins[step * terms_.micro_batches + i]));
    }
    sum += heaviest;
  }
  return sum;
}

bool OfflineSearch::IsWithinBounds() const {
  std::vector<uint64_t> tokens(bins_.size());
  for (uint32_t i = 0; i < documents_.size(); ++i) {
    if (!MayBeIn(i, StepOf(documents_[i].micro_batch))) return false;
    tokens[documents_[i].micro_batch] += documents_[i].length;
  }
  return *std::max_element(tokens.begin(), tokens.end()) <= terms_.max_length;
}

}  // namespace evenpack
