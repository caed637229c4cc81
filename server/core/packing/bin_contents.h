// What a packer has put into one micro-batch, while it still moves documents about.
#ifndef EVENPACK_SERVER_CORE_PACKING_BIN_CONTENTS_H_
#define EVENPACK_SERVER_CORE_PACKING_BIN_CONTENTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "server/core/cost/leaning_workload.h"
#include "server/core/document/padding.h"
#include "server/core/packing/work_list.h"

namespace evenpack {

struct BinContents {
  // Places in the work list, in its order.
  std::vector<uint32_t> documents;
  // Sum of W_a, of padded lengths, and W_l of the latter on top of the former.
  int64_t attention_ns = 0;
  int64_t length = 0;
  int64_t load_ns = 0;
};

// bins[i] < bin_count is the micro-batch of work_list[i], or kLeftOver.
std::vector<BinContents> ContentsOf(const WorkList& work_list,
                                    std::span<const uint32_t> bins, size_t bin_count,
                                    const PaddingRule& padding,
                                    const LeaningWorkload& workload);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_PACKING_BIN_CONTENTS_H_
