#include "server/core/packing/bin_contents.h"

#include "server/core/packing/assignment.h"

namespace evenpack {

std::vector<BinContents> ContentsOf(const WorkList& work_list,
                                    std::span<const uint32_t> bins, size_t bin_count,
                                    const PaddingRule& padding,
                                    const LeaningWorkload& workload) {
  std::vector<BinContents> contents(bin_count);
  for (size_t i = 0; i < work_list.size(); ++i) {
    if (bins[i] == kLeftOver) continue;
    BinContents& bin = contents[bins[i]];
    bin.documents.push_back(static_cast<uint32_t>(i));
    bin.attention_ns += workload.AttentionNs(work_list[i]->length);
    bin.length += static_cast<int64_t>(PaddedLength(padding, work_list[i]->length));
  }
  for (BinContents& bin : contents) {
    bin.load_ns =
        bin.attention_ns + workload.LinearNs(static_cast<uint64_t>(bin.length));
  }
  return contents;
}

}  // namespace evenpack
