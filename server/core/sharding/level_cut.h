// An uneven cut: what documents that are whole on one rank leave unequal is made up for
// by the ranks' shares of those that are cut.
#ifndef EVENPACK_SERVER_CORE_SHARDING_LEVEL_CUT_H_
#define EVENPACK_SERVER_CORE_SHARDING_LEVEL_CUT_H_

#include <cstdint>
#include <span>
#include <vector>

namespace evenpack {

// Of whole documents on one rank, or of all cut ones.
struct DocumentLoad {
  uint64_t tokens = 0;
  // Attention, as if no document were cut.
  int64_t attention_ps = 0;

  friend bool operator==(const DocumentLoad&, const DocumentLoad&) = default;
};

struct LevelledCut {
  // Which rank is to have the load of which index.
  std::vector<uint32_t> rank_of_load;
  // As ShardPlan::slot_starts of hybrid sharding.
  std::vector<uint64_t> slot_starts;
};

// All cut documents are cut in the same proportions. A rank's front and back slot
// together bring its tokens up to a level that is the same for all, but for those that
// are above it with their whole documents. How the two share that depends on attention:
// of a document's causal triangle the tokens from part u to part v of it have
// v^2 - u^2, so tokens moved from the back slot to the front slot make a rank cheaper
// and leave its tokens the same. What is asked may be beyond what two slots can have;
// the loads that ask for most that is unusual get the outermost slots, where most is
// possible, and the last rank what is left.
//
// `loads`: one per rank, 1 to 1,024. Tokens of all loads and `cut` together: below
// 2^32; attention: below 2^61. cut.tokens > 0. Time O(CP log CP).
LevelledCut LevelCut(std::span<const DocumentLoad> loads, const DocumentLoad& cut);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_SHARDING_LEVEL_CUT_H_
