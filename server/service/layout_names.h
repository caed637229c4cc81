// The API's layouts and shardings, and the engine's.
#ifndef EVENPACK_SERVER_SERVICE_LAYOUT_NAMES_H_
#define EVENPACK_SERVER_SERVICE_LAYOUT_NAMES_H_

#include <optional>

#include "evenpack/v1/job.pb.h"
#include "server/core/document/layout.h"
#include "server/core/document/micro_batch.h"

namespace evenpack {

// None for unspecified and for numbers that have no name.
inline std::optional<Layout> FromProto(v1::Layout layout) {
  switch (layout) {
    case v1::LAYOUT_NATIVE:
      return Layout::kNative;
    case v1::LAYOUT_MEGATRON_THD:
      return Layout::kMegatronThd;
    case v1::LAYOUT_TE_THD:
      return Layout::kTeThd;
    case v1::LAYOUT_PYTORCH_CP:
      return Layout::kPytorchCp;
    case v1::LAYOUT_RING_LLAMA3:
      return Layout::kRingLlama3;
    case v1::LAYOUT_HF_FLAT:
      return Layout::kHfFlat;
    default:
      return std::nullopt;
  }
}

inline v1::Layout ToProto(Layout layout) {
  switch (layout) {
    case Layout::kNative:
      return v1::LAYOUT_NATIVE;
    case Layout::kMegatronThd:
      return v1::LAYOUT_MEGATRON_THD;
    case Layout::kTeThd:
      return v1::LAYOUT_TE_THD;
    case Layout::kPytorchCp:
      return v1::LAYOUT_PYTORCH_CP;
    case Layout::kRingLlama3:
      return v1::LAYOUT_RING_LLAMA3;
    case Layout::kHfFlat:
      return v1::LAYOUT_HF_FLAT;
  }
  return v1::LAYOUT_UNSPECIFIED;
}

inline std::optional<Sharding> FromProto(v1::Sharding sharding) {
  switch (sharding) {
    case v1::SHARDING_PER_SEQUENCE:
      return Sharding::kPerSequence;
    case v1::SHARDING_PER_DOCUMENT:
      return Sharding::kPerDocument;
    case v1::SHARDING_ADAPTIVE:
      return Sharding::kAdaptive;
    case v1::SHARDING_CONTIGUOUS:
      return Sharding::kContiguous;
    case v1::SHARDING_HYBRID:
      return Sharding::kHybrid;
    default:
      return std::nullopt;
  }
}

inline v1::Sharding ToProto(Sharding sharding) {
  switch (sharding) {
    case Sharding::kPerSequence:
      return v1::SHARDING_PER_SEQUENCE;
    case Sharding::kPerDocument:
      return v1::SHARDING_PER_DOCUMENT;
    case Sharding::kAdaptive:
      return v1::SHARDING_ADAPTIVE;
    case Sharding::kContiguous:
      return v1::SHARDING_CONTIGUOUS;
    case Sharding::kHybrid:
      return v1::SHARDING_HYBRID;
  }
  return v1::SHARDING_UNSPECIFIED;
}

}  // namespace evenpack

#endif  // EVENPACK_SERVER_SERVICE_LAYOUT_NAMES_H_
