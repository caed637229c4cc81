#include "tests/server/solver/small_problems.h"

#include <algorithm>
#include <random>
#include <utility>

#include "tests/testing/given_lengths.h"
#include "tests/testing/test_documents.h"

namespace evenpack::testing {

LengthCurve LinearCurve(uint32_t max_tokens, int64_t per_token) {
  return LengthCurve::Sample(max_tokens,
                             [per_token](uint64_t tokens) -> absl::StatusOr<int64_t> {
                               return static_cast<int64_t>(tokens) * per_token;
                             })
      .value();
}

LoadProblem SquaredProblem(std::vector<uint32_t> lengths, size_t bins,
                           int64_t capacity) {
  LoadProblem problem;
  for (const uint32_t length : lengths) {
    problem.costs.push_back(int64_t{length} * length);
  }
  problem.lengths = std::move(lengths);
  problem.bins = bins;
  problem.capacity = capacity;
  return problem;
}

LoadProblem RandomProblem(uint64_t seed, bool is_linear) {
  std::mt19937_64 random(seed);
  const uint32_t longest = Draw(random, 5, 60);
  std::vector<uint32_t> lengths(Draw(random, 1, 8));
  for (uint32_t& length : lengths) length = Draw(random, 1, longest);
  std::sort(lengths.rbegin(), lengths.rend());
  const uint32_t bins = Draw(random, 1, 4);
  uint32_t tokens = 0;
  for (const uint32_t length : lengths) tokens += length;
  const uint32_t least = std::max(lengths.front(), (tokens + bins - 1) / bins);
  LoadProblem problem =
      SquaredProblem(std::move(lengths), bins, least + Draw(random, 0, longest));
  if (is_linear) {
    problem.linear = LinearCurve(static_cast<uint32_t>(problem.capacity), 11);
  }
  return problem;
}

std::optional<Assignment> PackGreedily(const LoadProblem& problem) {
  Assignment assignment;
  std::vector<BinFill> fills(problem.bins);
  for (size_t i = 0; i < problem.lengths.size(); ++i) {
    size_t best = problem.bins;
    for (size_t bin = 0; bin < problem.bins; ++bin) {
      if (fills[bin].tokens + problem.lengths[i] > problem.capacity) continue;
      if (best == problem.bins ||
          LoadOf(problem, fills[bin]) < LoadOf(problem, fills[best])) {
        best = bin;
      }
    }
    if (best == problem.bins) return std::nullopt;
    assignment.push_back(static_cast<uint32_t>(best));
    fills[best].cost += problem.costs[i];
    fills[best].tokens += problem.lengths[i];
  }
  return assignment;
}

std::optional<int64_t> LeastLoad(const LoadProblem& problem) {
  std::optional<int64_t> least;
  Assignment assignment(problem.lengths.size(), 0);
  while (true) {
    if (IsPacking(problem, assignment)) {
      const int64_t load = HeaviestLoad(problem, assignment);
      least = std::min(least.value_or(load), load);
    }
    // The next number with as many digits as there are documents.
    size_t digit = 0;
    while (digit < assignment.size() && ++assignment[digit] == problem.bins) {
      assignment[digit++] = 0;
    }
    if (digit == assignment.size()) return least;
  }
}

LoadProblem TightProblem(uint64_t seed) {
  constexpr size_t kBins = 4;
  constexpr int64_t kCapacity = 131072;
  const std::vector<uint32_t>& given = GivenLengths();
  std::vector<uint32_t> lengths;
  int64_t tokens = 0;
  for (size_t i = seed * 150; tokens < int64_t{kBins} * kCapacity; ++i) {
    lengths.push_back(given[i]);
    tokens += given[i];
  }
  std::sort(lengths.rbegin(), lengths.rend());
  LoadProblem problem = SquaredProblem({}, kBins, kCapacity);
  for (const uint32_t length : lengths) {
    problem.lengths.push_back(length);
    problem.costs.push_back(int64_t{length} * length);
    if (PackGreedily(problem).has_value()) continue;
    problem.lengths.pop_back();
    problem.costs.pop_back();
  }
  return problem;
}

}  // namespace evenpack::testing
