// What the trainer's attention asks of a micro-batch's shape.
#ifndef EVENPACK_SERVER_CORE_DOCUMENT_LAYOUT_H_
#define EVENPACK_SERVER_CORE_DOCUMENT_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"

namespace evenpack {

// The numbers are part of stored formats.
enum class Layout : uint8_t {
  kNative = 0,       // padding-free slices, for Evenpack's own executor
  kMegatronThd = 1,  // Megatron-Core packed sequences
  kTeThd = 2,        // TransformerEngine THD
  kPytorchCp = 3,    // PyTorch context parallel
  kRingLlama3 = 4,   // ring-flash-attention, llama3 style: contiguous shards
  kHfFlat = 5,       // Hugging Face, TRL: one flat sequence without context parallelism
};

// "megatron_thd" and the like; "unknown" for a number that is none of them.
absl::string_view LayoutName(Layout layout);

// docs/adr/0011 says what is padded to what.
struct LayoutSpec {
  Layout kind = Layout::kNative;
  // Documents (or pieces) of a micro-batch, at most. 0: no bound.
  uint32_t max_documents = 0;
  // Each micro-batch is padded to a multiple of this many tokens. 0 and 1: none.
  uint32_t pad_tokens_to = 0;
  // Each micro-batch is padded to the least of these token counts that holds it.
  // Rising, from 1; those above the job's max_length are not used. Not together with
  // pad_tokens_to.
  std::vector<uint32_t> shape_ladder;
  // Lengths must also suit the tensor-parallel ranks that share each token's layers.
  bool sequence_parallel = false;

  friend bool operator==(const LayoutSpec&, const LayoutSpec&) = default;
};

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_DOCUMENT_LAYOUT_H_
