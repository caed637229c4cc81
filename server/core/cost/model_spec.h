// The shape of a decoder-only transformer, and the floating-point operations of its
// forward pass (a multiply-add counts as two).
#ifndef EVENPACK_SERVER_CORE_COST_MODEL_SPEC_H_
#define EVENPACK_SERVER_CORE_COST_MODEL_SPEC_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace evenpack {

struct ModelSpec {
  enum FfnKind : uint8_t {
    kGated = 0,  // three matrices: gate, up, down (SwiGLU)
    kPlain = 1,  // two matrices: up, down
  };

  std::string name;
  uint32_t layers = 0;
  // Width of the residual stream.
  uint32_t hidden = 0;
  uint32_t query_heads = 0;
  // Divides query_heads; fewer than query_heads is grouped-query attention.
  uint32_t kv_heads = 0;
  // Elements of one head; query_heads * head_size need not equal `hidden`.
  uint32_t head_size = 0;
  // Inner width of the feed-forward network, of one expert where there are experts.
  uint32_t ffn_size = 0;
  FfnKind ffn_kind = kGated;
  // Experts of each layer's mixture; 0 for a dense model.
  uint32_t experts = 0;
  // Experts that one token visits; 0 for a dense model.
  uint32_t active_experts = 0;
  uint32_t vocabulary = 0;
  // Keys that a query of a sliding-window layer attends to, itself among them; 0 for
  // a model without such layers.
  uint32_t window = 0;
  // Layers that use the window; the others attend to everything before them.
  uint32_t window_layers = 0;

  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

// INVALID_ARGUMENT naming the first bad field, its value and what is accepted.
absl::Status Validate(const ModelSpec& model);

// (query, key) pairs of one document of `length` tokens (at most 2^32 - 1) under
// causal attention; `window` 0 means no window.
uint64_t AttendedPairs(uint64_t length, uint32_t window);

// Scores and weighted values of one document over all layers: 4 * query_heads *
// head_size for each attended pair of each layer. A double: exact integers end at
// 2^53, beyond it is rounded once per operation, the same on every machine.
double AttentionFlops(const ModelSpec& model, uint64_t length);

// Everything whose work is in proportion to tokens, for one token: Q, K, V and output
// projections, feed-forward network (router and active experts), LM head. Element-wise
// work and normalisation are left to the achieved fraction of HardwareSpec.
double LinearFlopsPerToken(const ModelSpec& model);

// Weights of the whole model, all experts counted, embedding and LM head apart
// (untied), no biases.
double ParameterCount(const ModelSpec& model);

}  // namespace evenpack

#endif  // EVENPACK_SERVER_CORE_COST_MODEL_SPEC_H_
