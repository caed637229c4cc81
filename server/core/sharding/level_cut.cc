#include "server/core/sharding/level_cut.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "absl/numeric/int128.h"
#include "server/core/sharding/shard_plan.h"

namespace evenpack {
namespace {

using absl::int128;

// What a rank is to have of the cut documents.
struct Share {
  uint32_t load = 0;
  uint64_t tokens = 0;
  int64_t attention_ps = 0;
  // How far attention is from that of an even cut with as many tokens.
  int128 unusual = 0;
};

std::vector<Share> TokenShares(std::span<const DocumentLoad> loads,
                               uint64_t cut_tokens) {
  std::vector<Share> shares(loads.size());
  for (uint32_t i = 0; i < shares.size(); ++i) shares[i].load = i;
  std::sort(shares.begin(), shares.end(), [loads](const Share& a, const Share& b) {
    const uint64_t left = loads[a.load].tokens;
    const uint64_t right = loads[b.load].tokens;
    return left != right ? left < right : a.load < b.load;
  });
  // The loads below the level, and the level of their tokens and the cut ones together.
  size_t below = 0;
  uint64_t filled = cut_tokens;
  while (below < shares.size() &&
         (below == 0 || loads[shares[below].load].tokens * below < filled)) {
    filled += loads[shares[below++].load].tokens;
  }
  for (size_t i = 0; i < below; ++i) {
    const uint64_t level = filled / below + (i < filled % below ? 1 : 0);
    const uint64_t tokens = loads[shares[i].load].tokens;
    shares[i].tokens = level - tokens;
  }
  return shares;
}

void AddAttention(std::span<const DocumentLoad> loads, const DocumentLoad& cut,
                  std::vector<Share>& shares) {
  int64_t total = cut.attention_ps;
  for (const DocumentLoad& load : loads) total += load.attention_ps;
  const int64_t mean = total / static_cast<int64_t>(loads.size());
  for (Share& share : shares) {
    share.attention_ps = mean - loads[share.load].attention_ps;
    const int128 unusual = int128(share.attention_ps) * cut.tokens -
                           int128(cut.attention_ps) * share.tokens;
    share.unusual = unusual < 0 ? -unusual : unusual;
  }
}

// Of a share's tokens, those in the front slot, where the slots of the ranks before
// have left the tokens `begin` to `end` of the cut ones. With f in front, attention is
// in proportion to (begin + f)^2 - begin^2 + end^2 - (end - tokens + f)^2, which is
// linear in f.
uint64_t FrontTokens(const Share& share, const DocumentLoad& cut, uint64_t begin,
                     uint64_t end) {
  const uint64_t between = end - begin - share.tokens;
  if (between == 0 || cut.attention_ps == 0) return share.tokens / 2;
  const auto tokens = static_cast<int64_t>(share.tokens);
  const int128 asked =
      int128(share.attention_ps) * cut.tokens / cut.attention_ps * cut.tokens;
  const int128 all = int128(end) * end - int128(begin) * begin;
  const int128 twice = (all - asked) / between - (int128(begin) + end - tokens);
  return static_cast<uint64_t>(std::clamp(twice / 2, int128(0), int128(tokens)));
}

uint64_t PartOf(uint64_t token, uint64_t tokens) {
  // Rounded up, so that rounding down gives the token again.
  return ((token << 32) + tokens - 1) / tokens;
}

}  // namespace

LevelledCut LevelCut(std::span<const DocumentLoad> loads, const DocumentLoad& cut) {
  std::vector<Share> shares = TokenShares(loads, cut.tokens);
  AddAttention(loads, cut, shares);
  std::sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
    return a.unusual != b.unusual ? a.unusual > b.unusual : a.load < b.load;
  });
  LevelledCut level;
  level.rank_of_load.resize(loads.size());
  level.slot_starts.resize(2 * loads.size() + 1);
  level.slot_starts.back() = kWholeShare;
  uint64_t begin = 0;
  uint64_t end = cut.tokens;
  for (uint32_t rank = 0; rank < shares.size(); ++rank) {
    const Share& share = shares[rank];
    level.rank_of_load[share.load] = rank;
    const uint64_t front = FrontTokens(share, cut, begin, end);
    begin += front;
    end -= share.tokens - front;
    level.slot_starts[rank + 1] = PartOf(begin, cut.tokens);
    level.slot_starts[2 * loads.size() - 1 - rank] = PartOf(end, cut.tokens);
  }
  return level;
}

}  // namespace evenpack
