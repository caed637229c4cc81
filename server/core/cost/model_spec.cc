#include "server/core/cost/model_spec.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/core/document/invalid_field.h"

namespace evenpack {
namespace {

// Far above any model, and small enough that a slip of digits is caught here.
constexpr uint32_t kMaxLayers = 10'000;
constexpr uint32_t kMaxWidth = 16'777'216;
constexpr uint32_t kMaxHeads = 65'536;
constexpr uint32_t kMaxHeadSize = 4'096;
constexpr uint32_t kMaxExperts = 65'536;
constexpr uint32_t kMaxVocabulary = 268'435'456;

absl::Status CheckRanges(const ModelSpec& model) {
  const struct {
    absl::string_view field;
    uint32_t value;
    uint32_t most;
  } ranges[] = {
      {"model.layers", model.layers, kMaxLayers},
      {"model.hidden", model.hidden, kMaxWidth},
      {"model.query_heads", model.query_heads, kMaxHeads},
      {"model.kv_heads", model.kv_heads, kMaxHeads},
      {"model.head_size", model.head_size, kMaxHeadSize},
      {"model.ffn_size", model.ffn_size, kMaxWidth},
      {"model.vocabulary", model.vocabulary, kMaxVocabulary},
  };
  absl::Status status;
  for (const auto& range : ranges) {
    status.Update(CheckRange(range.field, range.value, 1, range.most));
  }
  return status;
}

absl::Status CheckExperts(const ModelSpec& model) {
  if (model.experts > kMaxExperts) {
    return InvalidField("model.experts", model.experts,
                        absl::StrCat("0 (dense) to ", kMaxExperts));
  }
  if (model.experts == 0 && model.active_experts != 0) {
    return InvalidField("model.active_experts", model.active_experts,
                        "0, as model.experts is 0");
  }
  if (model.experts != 0 &&
      (model.active_experts < 1 || model.active_experts > model.experts)) {
    return InvalidField("model.active_experts", model.active_experts,
                        absl::StrCat("1 to model.experts = ", model.experts));
  }
  return absl::OkStatus();
}

absl::Status CheckWindow(const ModelSpec& model) {
  if (model.window_layers > model.layers) {
    return InvalidField("model.window_layers", model.window_layers,
                        absl::StrCat("0 to model.layers = ", model.layers));
  }
  if (model.window_layers > 0 && model.window == 0) {
    return InvalidField(
        "model.window", model.window,
        absl::StrCat("at least 1, as model.window_layers is ", model.window_layers));
  }
  return absl::OkStatus();
}

double FfnMatrices(const ModelSpec& model) {
  return model.ffn_kind == ModelSpec::kGated ? 3.0 : 2.0;
}

// Weights of one layer's projections: Q and output over the query heads, K and V over
// the KV heads.
double ProjectionWeights(const ModelSpec& model) {
  const double heads = 2.0 * model.query_heads + 2.0 * model.kv_heads;
  return heads * model.head_size * model.hidden;
}

// Weights of one layer's feed-forward network, `experts` of a mixture counted and its
// router with them; of the one dense network where the model has no experts.
double FfnWeights(const ModelSpec& model, uint32_t experts) {
  const double one = FfnMatrices(model) * model.hidden * model.ffn_size;
  if (model.experts == 0) return one;
  return experts * one + static_cast<double>(model.hidden) * model.experts;
}

double HeadWeights(const ModelSpec& model) {
  return static_cast<double>(model.hidden) * model.vocabulary;
}

}  // namespace

absl::Status Validate(const ModelSpec& model) {
  absl::Status status = CheckRanges(model);
  if (!status.ok()) return status;
  if (model.query_heads % model.kv_heads != 0) {
    return InvalidField(
        "model.query_heads", model.query_heads,
        absl::StrCat("a multiple of model.kv_heads = ", model.kv_heads));
  }
  if (model.ffn_kind != ModelSpec::kGated && model.ffn_kind != ModelSpec::kPlain) {
    return InvalidField("model.ffn_kind", static_cast<int>(model.ffn_kind),
                        "0 (gated) or 1 (plain)");
  }
  status.Update(CheckExperts(model));
  status.Update(CheckWindow(model));
  return status;
}

uint64_t AttendedPairs(uint64_t length, uint32_t window) {
  if (window == 0 || length <= window) return length * (length + 1) / 2;
  const uint64_t width = window;
  return width * (width + 1) / 2 + (length - width) * width;
}

double AttentionFlops(const ModelSpec& model, uint64_t length) {
  const double per_pair = 4.0 * model.query_heads * model.head_size;
  const auto full_layers = static_cast<double>(model.layers - model.window_layers);
  const double pairs =
      full_layers * static_cast<double>(AttendedPairs(length, 0)) +
      model.window_layers * static_cast<double>(AttendedPairs(length, model.window));
  return per_pair * pairs;
}

double LinearFlopsPerToken(const ModelSpec& model) {
  const double layer =
      ProjectionWeights(model) + FfnWeights(model, model.active_experts);
  return 2.0 * (model.layers * layer + HeadWeights(model));
}

double ParameterCount(const ModelSpec& model) {
  const double norms = 2.0 * model.hidden;
  const double layer =
      ProjectionWeights(model) + FfnWeights(model, model.experts) + norms;
  return model.layers * layer + 2.0 * HeadWeights(model) + model.hidden;
}

}  // namespace evenpack
