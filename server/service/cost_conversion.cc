#include "server/service/cost_conversion.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "evenpack/v1/cost.pb.h"
#include "server/core/cost/length_curve.h"
#include "server/core/cost/named_models.h"
#include "server/core/document/invalid_field.h"
#include "server/service/field_path.h"

namespace evenpack {
namespace {

ModelSpec FromShape(const v1::ModelShape& shape) {
  ModelSpec model;
  model.name = shape.name();
  model.layers = shape.layers();
  model.hidden = shape.hidden();
  model.query_heads = shape.query_heads();
  model.kv_heads = shape.kv_heads();
  model.head_size = shape.head_size();
  model.ffn_size = shape.ffn_size();
  model.ffn_kind = shape.plain_ffn() ? ModelSpec::kPlain : ModelSpec::kGated;
  model.experts = shape.experts();
  model.active_experts = shape.active_experts();
  model.vocabulary = shape.vocabulary();
  model.window = shape.window();
  model.window_layers = shape.window_layers();
  return model;
}

absl::StatusOr<HardwareSpec> ReadHardware(const v1::Hardware& hardware) {
  if (!hardware.has_figures()) return NamedHardware(hardware.name());
  const v1::HardwareFigures& figures = hardware.figures();
  HardwareSpec spec;
  spec.name = figures.name();
  spec.peak_flops = figures.peak_flops();
  spec.linear_fraction = figures.linear_fraction();
  spec.attention_fraction = figures.attention_fraction();
  spec.multiprocessors = figures.multiprocessors();
  return spec;
}

// The engine's "model.layers" is "model.shape.layers" here.
absl::Status InApiNames(const absl::Status& status) {
  const std::string field = RefusedField(status);
  absl::string_view rest = field;
  if (absl::ConsumePrefix(&rest, "model.")) {
    return Renamed(absl::StrCat("model.shape.", rest), status);
  }
  if (absl::ConsumePrefix(&rest, "hardware.")) {
    return Renamed(absl::StrCat("hardware.figures.", rest), status);
  }
  return status;
}

absl::StatusOr<AnalyticCost> ReadAnalytic(const v1::AnalyticCost& from,
                                          const CostShape& shape) {
  absl::StatusOr<ModelSpec> model = ReadModel(from.model());
  if (!model.ok()) return Renamed("model.name", model.status());
  absl::StatusOr<HardwareSpec> hardware = ReadHardware(from.hardware());
  if (!hardware.ok()) return Renamed("hardware.name", hardware.status());
  AnalyticCost cost;
  cost.model = *std::move(model);
  cost.hardware = *std::move(hardware);
  cost.tensor_parallel = shape.tensor_parallel;
  cost.context_parallel = shape.context_parallel;
  if (absl::Status status = Validate(cost); !status.ok()) return InApiNames(status);
  return cost;
}

// A function given by its values at some token counts: lines between them, the last
// line's slope beyond.
class Polyline {
 public:
  Polyline(const std::vector<uint32_t>& tokens, std::vector<int64_t> values)
      : tokens_(tokens), values_(std::move(values)) {}

  absl::StatusOr<int64_t> At(uint64_t tokens) const {
    const auto above = std::upper_bound(tokens_.begin(), tokens_.end(), tokens);
    const size_t right = std::clamp<size_t>(
        static_cast<size_t>(above - tokens_.begin()), 1, tokens_.size() - 1);
    const absl::int128 rise = absl::int128(values_[right]) - values_[right - 1];
    const uint64_t run = tokens_[right] - tokens_[right - 1];
    const absl::int128 value =
        values_[right - 1] + rise * (tokens - tokens_[right - 1]) / run;
    return static_cast<int64_t>(
        std::min<absl::int128>(value, std::numeric_limits<int64_t>::max()));
  }

 private:
  const std::vector<uint32_t>& tokens_;
  const std::vector<int64_t> values_;
};

absl::StatusOr<std::vector<int64_t>> ReadValues(
    absl::string_view field, const google::protobuf::RepeatedField<int64_t>& from,
    size_t count) {
  if (static_cast<size_t>(from.size()) != count) {
    return InvalidField(field, absl::StrCat(from.size(), " values"),
                        absl::StrCat(count, ", as many as tokens"));
  }
  std::vector<int64_t> values = {0};
  values.insert(values.end(), from.begin(), from.end());
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i] >= values[i - 1]) continue;
    return InvalidField(absl::StrCat(field, "[", i - 1, "]"), values[i],
                        absl::StrCat("at least ", values[i - 1], ", the one before"));
  }
  return values;
}

absl::StatusOr<WorkloadTable> ReadTable(const v1::CostTable& from,
                                        const CostShape& shape) {
  std::vector<uint32_t> tokens = {0};
  for (const uint32_t count : from.tokens()) {
    if (count <= tokens.back()) {
      return InvalidField(absl::StrCat("tokens[", tokens.size() - 1, "]"), count,
                          absl::StrCat("more than ", tokens.back()));
    }
    tokens.push_back(count);
  }
  if (tokens.size() < 2) {
    return InvalidField("tokens", "no value", "at least one");
  }
  const auto sample = [&](absl::string_view field,
                          const google::protobuf::RepeatedField<int64_t>& values)
      -> absl::StatusOr<LengthCurve> {
    auto read = ReadValues(field, values, tokens.size() - 1);
    if (!read.ok()) return read.status();
    const Polyline line(tokens, *std::move(read));
    return LengthCurve::Sample(shape.max_length,
                               [&line](uint64_t count) { return line.At(count); });
  };
  absl::StatusOr<LengthCurve> attention = sample("attention_ns", from.attention_ns());
  if (!attention.ok()) return attention.status();
  absl::StatusOr<LengthCurve> linear = sample("linear_ns", from.linear_ns());
  if (!linear.ok()) return linear.status();
  auto table = WorkloadTable::Create(*std::move(attention), *std::move(linear));
  if (table.ok() && !table->StepFits(shape.micro_batches)) {
    return InvalidField("attention_ns", "too large a workload of a step",
                        "values by which no step exceeds 2^62 ns");
  }
  return table;
}

absl::StatusOr<WorkloadTable> ResolveModel(const v1::Cost& cost,
                                           const CostShape& shape) {
  const auto resolve = [&shape](const CostSpec& spec) {
    return evenpack::ResolveWorkload(spec, shape.max_length, shape.micro_batches);
  };
  switch (cost.workload_case()) {
    case v1::Cost::kTable:
      return InField("table", ReadTable(cost.table(), shape));
    case v1::Cost::kAnalytic: {
      const auto analytic = ReadAnalytic(cost.analytic(), shape);
      if (!analytic.ok()) return Under("analytic", analytic.status());
      return InField("analytic", resolve(*analytic));
    }
    case v1::Cost::kProfiled: {
      const auto linear = ReadAnalytic(cost.profiled().linear(), shape);
      if (!linear.ok()) return Under("profiled.linear", linear.status());
      const auto attention = ReadKernelLatency(cost.kernel_latency());
      if (!attention.ok()) return Under("kernel_latency", attention.status());
      return InField("profiled", resolve(ProfiledCost{*linear, *attention}));
    }
    default:
      return InField("quadratic",
                     resolve(QuadraticCost{cost.quadratic().crossover_tokens(),
                                           cost.quadratic().ns_per_token()}));
  }
}

absl::StatusOr<WorkloadTable> Resolve(const v1::Cost& cost, const CostShape& shape) {
  const absl::StatusOr<CostScales> scales = ReadCostScales(cost);
  if (!scales.ok()) return scales.status();
  absl::StatusOr<WorkloadTable> table = ResolveModel(cost, shape);
  if (!table.ok()) return table;
  return Rescaled(*table, CostScales(), *scales, shape.micro_batches);
}

// 0 means 1.
absl::StatusOr<int64_t> ReadCostScale(absl::string_view field, double value) {
  return value == 0 ? CostScales::kOne : ReadScale(field, value);
}

v1::AnalyticCost Paper7B() {
  v1::AnalyticCost cost;
  cost.mutable_model()->set_name("7B");
  cost.mutable_hardware()->set_name("H100");
  return cost;
}

absl::StatusOr<KernelLatencyTable> ResolveLatency(const v1::Cost& cost,
                                                  const CostShape& shape) {
  if (cost.kernel_latency().q_lens_size() > 0) {
    return InField("kernel_latency", ReadKernelLatency(cost.kernel_latency()));
  }
  const auto read =
      ReadAnalytic(cost.has_analytic() ? cost.analytic() : Paper7B(), shape);
  if (!read.ok()) return Under("analytic", read.status());
  return KernelLatencyTable::FromTileModel(read->model, read->hardware,
                                           shape.tensor_parallel);
}

}  // namespace

absl::StatusOr<CostScales> ReadCostScales(const v1::Cost& cost) {
  const auto attention = ReadCostScale("attention_scale", cost.attention_scale());
  if (!attention.ok()) return attention.status();
  const auto linear = ReadCostScale("linear_scale", cost.linear_scale());
  if (!linear.ok()) return linear.status();
  return CostScales{*attention, *linear};
}

absl::StatusOr<WorkloadTable> ResolveWorkload(const v1::Cost& cost,
                                              const CostShape& shape) {
  return InField("cost", Resolve(cost, shape));
}

absl::StatusOr<KernelLatencyTable> ResolveKernelLatency(const v1::Cost& cost,
                                                        const CostShape& shape) {
  return InField("cost", ResolveLatency(cost, shape));
}

absl::StatusOr<AnalyticCost> ReadModelled(const v1::Cost& cost,
                                          const CostShape& shape) {
  if (cost.has_analytic()) return ReadAnalytic(cost.analytic(), shape);
  if (cost.has_profiled()) return ReadAnalytic(cost.profiled().linear(), shape);
  if (cost.quadratic().crossover_tokens() == kDefaultCrossover) {
    return ReadAnalytic(Paper7B(), shape);
  }
  return absl::NotFoundError("cost: it names no model");
}

absl::StatusOr<KernelLatencyTable> ReadKernelLatency(const v1::KernelLatency& from) {
  const auto cells = static_cast<size_t>(from.q_lens_size()) *
                     static_cast<size_t>(from.kv_lens_size());
  if (static_cast<size_t>(from.slice_ns_size()) != cells) {
    return InvalidField("slice_ns", absl::StrCat(from.slice_ns_size(), " values"),
                        absl::StrCat(cells, " values, q_lens times kv_lens"));
  }
  return KernelLatencyTable::FromMeasurements(
      {from.q_lens().begin(), from.q_lens().end()},
      {from.kv_lens().begin(), from.kv_lens().end()},
      {from.slice_ns().begin(), from.slice_ns().end()}, from.launch_ns());
}

absl::StatusOr<ModelSpec> ReadModel(const v1::Model& model) {
  if (model.has_shape()) return FromShape(model.shape());
  return NamedModel(model.name());
}

}  // namespace evenpack
