#include "server/core/document/layout.h"

namespace evenpack {

absl::string_view LayoutName(Layout layout) {
  switch (layout) {
    case Layout::kNative:
      return "native";
    case Layout::kMegatronThd:
      return "megatron_thd";
    case Layout::kTeThd:
      return "te_thd";
    case Layout::kPytorchCp:
      return "pytorch_cp";
    case Layout::kRingLlama3:
      return "ring_llama3";
    case Layout::kHfFlat:
      return "hf_flat";
  }
  return "unknown";
}

}  // namespace evenpack
