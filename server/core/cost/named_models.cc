#include "server/core/cost/named_models.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

// A dense decoder with gated feed-forward networks and full attention, as all the
// named ones are.
struct Shape {
  absl::string_view name;
  uint32_t layers;
  uint32_t hidden;
  uint32_t query_heads;
  uint32_t kv_heads;
  uint32_t head_size;
  uint32_t ffn_size;
  uint32_t vocabulary;
};

// WLB-LLM publishes no shapes, only sizes and that they are Llama-like; each size
// stands for the published model nearest to it.
constexpr std::array<Shape, 5> kShapes = {{
    // No Llama has this size. The shape keeps the family's proportions (heads of 128,
    // feed-forward width 8/3 of hidden, 32,000 tokens): at hidden 1,536, 16 layers
    // come to 551 million parameters.
    {"550M", 16, 1536, 12, 12, 128, 4096, 32000},
    // Llama 2 7B: config.json of meta-llama/Llama-2-7b; Touvron et al., "Llama 2".
    {"7B", 32, 4096, 32, 32, 128, 11008, 32000},
    // LLaMA 33B, the nearest to 30B: 32.5 billion parameters, 8% more than the name
    // says. Touvron et al., "LLaMA", table 2; width 17,920 from its params.json.
    {"30B", 60, 6656, 52, 52, 128, 17920, 32000},
    // Llama 3 70B: "The Llama 3 Herd of Models", table 3.
    {"70B", 80, 8192, 64, 8, 128, 28672, 128256},
    // Llama 3.1 405B: the same table.
    {"405B", 126, 16384, 128, 8, 128, 53248, 128256},
}};

ModelSpec ToModelSpec(const Shape& shape) {
  ModelSpec model;
  model.name = std::string(shape.name);
  model.layers = shape.layers;
  model.hidden = shape.hidden;
  model.query_heads = shape.query_heads;
  model.kv_heads = shape.kv_heads;
  model.head_size = shape.head_size;
  model.ffn_size = shape.ffn_size;
  model.vocabulary = shape.vocabulary;
  return model;
}

}  // namespace

absl::StatusOr<ModelSpec> NamedModel(absl::string_view name) {
  const auto* found = std::ranges::find_if(kShapes, [name](const Shape& shape) {
    return absl::EqualsIgnoreCase(shape.name, name);
  });
  if (found != kShapes.end()) return ToModelSpec(*found);
  return InvalidField("model", name, absl::StrJoin(ModelNames(), ", "));
}

std::vector<absl::string_view> ModelNames() {
  std::vector<absl::string_view> names;
  names.reserve(kShapes.size());
  for (const Shape& shape : kShapes) names.push_back(shape.name);
  return names;
}

}  // namespace evenpack
